import type { FitMethod, Grade } from '../schema.ts';
import { type BothWays, type Evaluation, GOOD_SCORE, WARN_SCORE } from './evaluate-map.ts';
import { drawCosines, drawRecall, SERIES } from './report-charts.ts';

/** Content of a map's report page. */
export interface FitReport {
  readonly model: string;
  readonly referenceModel: string;
  readonly space: string;
  /** Version of the map; null if it isn't stored. */
  readonly mapVersion: number | null;
  readonly method: FitMethod;
  /** Number of pairs behind the stored map. */
  readonly pairs: number;
  readonly createdAt: Date;
  readonly evaluation: Evaluation;
  readonly warnings: readonly string[];
}

const VERDICTS: Record<Grade, string> = {
  good: `Good: cross-model search finds the same texts as native search (score of at least ${GOOD_SCORE}).`,
  warn: `Usable with care: some texts are missed across models (score from ${WARN_SCORE} to ${GOOD_SCORE}). More pairs from the domain that is searched help most.`,
  fail: `Not good enough for cross-model search (score below ${WARN_SCORE}). Fit again with more pairs, from the domain that is searched.`,
  unknown: 'Not evaluated.',
};

/** Number of held-out texts below which one text changes a figure by more than half a percentage point. */
const FEW_HELD_OUT = 200;

/** Render the page as a self-contained file with light and dark styles. */
export function renderReport(report: FitReport): string {
  const { evaluation } = report;
  const version = report.mapVersion === null ? 'not stored' : `version ${report.mapVersion}`;
  const facts: [string, string][] = [
    ['Space', report.space],
    ['Reference model', report.referenceModel],
    ['Map', `${version}, ${report.method}`],
    ['Pairs fitted', String(report.pairs)],
    ['Texts held out', String(evaluation.heldOut)],
    ['Made', report.createdAt.toISOString()],
  ];
  const few =
    evaluation.heldOut < FEW_HELD_OUT ? [`${evaluation.heldOut} held-out texts are few; the figures are rough`] : [];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(report.model)} in ${escapeHtml(report.space)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(report.model)}</h1>
<p class="verdict ${evaluation.grade}"><strong>${evaluation.score.toFixed(3)}</strong> ${escapeHtml(VERDICTS[evaluation.grade])}</p>
${[...report.warnings, ...few].map((warning) => `<p class="warning">${escapeHtml(warning)}</p>`).join('\n')}
<dl>
${facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`).join('\n')}
</dl>
<h2>Recall against dimension</h2>
${drawRecall(evaluation.scores)}
${legend(SERIES.map((series) => [series.className, series.label]))}
<h2>Cosines between the model and the reference</h2>
${drawCosines(evaluation.cosines)}
${legend([
  ['same', 'same text'],
  ['other', 'different texts'],
])}
<h2>Figures</h2>
${table(evaluation)}
<p class="note">All figures are of texts that the map was not fitted on. The score is identity recall@1 at 1,024 dimensions in the worse
direction. A share of 0.5 in the mixed index is fair. The mean cosine is a diagnostic only.</p>
</main>
</body>
</html>
`;
}

function legend(entries: readonly (readonly [className: string, label: string])[]): string {
  const items = entries.map(([className, label]) => `<li><i class="${className}"></i>${label}</li>`);
  return `<ul class="legend">${items.join('')}</ul>`;
}

function table({ scores }: Evaluation): string {
  const both = ({ forward, backward }: BothWays) => `${forward.toFixed(3)} / ${backward.toFixed(3)}`;
  const rows: [string, (at: Evaluation['scores'][number]) => string][] = [
    ['Same text found first', (at) => both(at.recallAt1)],
    ['Same text in the first ten', (at) => both(at.recallAt10)],
    ['Ten nearest as in native search', (at) => both(at.overlapAt10)],
    ['Own neighbours kept', (at) => at.retention.toFixed(3)],
    ['Own neighbours kept, unrotated prefix', (at) => at.unrotatedRetention.toFixed(3)],
    ['Share of a mixed index', (at) => both(at.mixedIndexShare)],
    ['Mean cosine', (at) => at.meanCosine.toFixed(3)],
  ];
  const head = scores.map((at) => `<th scope="col">${at.dimensions}</th>`).join('');
  const body = rows
    .map(
      ([name, show]) => `<tr><th scope="row">${name}</th>${scores.map((at) => `<td>${show(at)}</td>`).join('')}</tr>`,
    )
    .join('\n');
  return `<div class="scroll"><table>
<caption>model searches reference / reference searches model</caption>
<thead><tr><th scope="col">Dimensions</th>${head}</tr></thead>
<tbody>
${body}
</tbody>
</table></div>`;
}

function escapeHtml(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replaceAll(/[&<>"']/g, (character) => names[character] as string);
}

const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #5b6570; --back: #ffffff; --line: #d9dee3; --panel: #f5f7f9;
  --a: #0b62c4; --b: #b3520b; --c: #16794c; --d: #7a828a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ec; --soft: #9aa4ae; --back: #14181c; --line: #333b43; --panel: #1d2329;
    --a: #6cb0ff; --b: #ffab66; --c: #5fd39a; --d: #9aa4ae; --bad: #ff8a80; }
}
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin-top: 2.5rem; }
.verdict { border-left: 4px solid var(--c); background: var(--panel); padding: .75rem 1rem; }
.verdict strong { font-size: 1.4rem; margin-right: .5rem; }
.verdict.warn { border-color: var(--b); } .verdict.fail { border-color: var(--bad); } .verdict.unknown { border-color: var(--d); }
.warning { border-left: 4px solid var(--b); padding: 0 1rem; }
.note, dt, caption { color: var(--soft); font-size: .875rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .75rem; }
dd { margin: 0; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; font-size: 12px; }
svg text { fill: var(--soft); }
.grid { stroke: var(--line); }
polyline { fill: none; stroke-width: 2; }
polyline.forward { stroke: var(--a); } circle.forward, i.forward { fill: var(--a); background: var(--a); }
polyline.backward { stroke: var(--b); } circle.backward, i.backward { fill: var(--b); background: var(--b); }
polyline.retention { stroke: var(--c); } circle.retention, i.retention { fill: var(--c); background: var(--c); }
polyline.unrotated { stroke: var(--d); stroke-dasharray: 5 4; } circle.unrotated, i.unrotated { fill: var(--d); background: var(--d); }
rect.same, i.same { fill: var(--a); background: var(--a); fill-opacity: .75; }
rect.other, i.other { fill: var(--d); background: var(--d); fill-opacity: .55; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; font-size: .875rem; }
.legend i { display: inline-block; width: .75rem; height: .75rem; margin-right: .4rem; border-radius: 2px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .875rem; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: right; white-space: nowrap; }
th[scope=row] { text-align: left; font-weight: 400; white-space: normal; }
`;
