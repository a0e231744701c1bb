import { parse } from 'parse5';
import { describe, expect, it } from 'vitest';
import { evaluateMap } from '../../../src/projection/fit/evaluate-map.ts';
import { type FitReport, renderReport } from '../../../src/projection/fit/report-html.ts';
import { gaussians } from './synthetic.ts';

const RANK = 16;

function makeReport(noise: number, changes: Partial<FitReport> = {}): FitReport {
  const canonical = Float32Array.from(gaussians(60 * RANK, 1));
  const disturbance = gaussians(canonical.length, 2);
  const map = {
    method: 'procrustes' as const,
    nativeDimension: RANK,
    rank: RANK,
    mean: new Float32Array(RANK),
    weights: Float32Array.from({ length: RANK * RANK }, (_, i) => (i % (RANK + 1) === 0 ? 1 : 0)),
  };
  const vectors = canonical.map((value, i) => value + noise * (disturbance[i] as number));
  return {
    model: 'vendor/model-a',
    referenceModel: 'vendor/reference',
    space: 'canon-v1',
    mapVersion: 3,
    method: 'procrustes',
    pairs: 600,
    createdAt: new Date('2025-01-02T03:04:05Z'),
    evaluation: evaluateMap({ map, vectors, canonical, rank: RANK }),
    warnings: [],
    ...changes,
  };
}

describe('the report page', () => {
  it('the report page is well-formed and loads nothing', () => {
    const html = renderReport(makeReport(0.1));
    const errors: string[] = [];
    parse(html, { onParseError: (error) => errors.push(error.code) });
    expect(errors).toEqual([]);
    expect(html).not.toMatch(/https?:|src=|href=|url\(|@import|<script/);
    expect(html.match(/<svg /g)).toHaveLength(2);
    expect(html).toContain('prefers-color-scheme: dark');
  });

  it('the report page shows the verdict, the score and every figure', () => {
    const report = makeReport(0.1);
    const html = renderReport(report);
    expect(html).toContain('class="verdict good"');
    expect(html).toContain(report.evaluation.score.toFixed(3));
    for (const at of report.evaluation.scores) {
      expect(html).toContain(`<th scope="col">${at.dimensions}</th>`);
      expect(html).toContain(at.meanCosine.toFixed(3));
    }
    expect(renderReport(makeReport(3))).toContain('class="verdict fail"');
  });

  it('the report page escapes foreign text, and shows warnings', () => {
    const html = renderReport(makeReport(0.1, { model: '<b>&"', warnings: ['600 pairs < 1000'], mapVersion: null }));
    expect(html).toContain('&lt;b&gt;&amp;&quot;');
    expect(html).not.toContain('<b>');
    expect(html).toContain('600 pairs &lt; 1000');
    expect(html).toContain('not stored');
  });

  it('the charts have only numeric coordinates, even for a single dimension', () => {
    const report = makeReport(0.1);
    const single = { ...report.evaluation, scores: report.evaluation.scores.slice(0, 1) };
    for (const html of [renderReport(report), renderReport({ ...report, evaluation: single })]) {
      expect(html).not.toMatch(/NaN|Infinity|undefined/);
    }
  });
});
