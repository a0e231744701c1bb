import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { type Figures, renderFigures } from './figures.ts';

declare module 'vitest' {
  interface ProvidedContext {
    faults: { scale: number; only: string; figuresFile: string };
  }
}

/** Provide one seed and one table of figures for the whole run. */
export default function setup(project: TestProject): () => void {
  const seed = project.config.env['TEST_SEED'];
  const directory = mkdtempSync(path.join(tmpdir(), 'service-test-faults-'));
  const figuresFile = path.join(directory, 'figures.jsonl');
  writeFileSync(figuresFile, '');
  const scale = Number(process.env['FAULTS_SCALE'] ?? 1);
  const only = process.env['FAULTS_ONLY'] ?? '';
  project.provide('faults', { scale, only, figuresFile });
  process.stdout.write(`seed ${seed} (repeat it with TEST_SEED=${seed})\n`);
  const beganMs = performance.now();
  return () => {
    const rows = readFileSync(figuresFile, 'utf8').split('\n').filter(Boolean);
    rmSync(directory, { recursive: true, force: true });
    if (rows.length === 0) return;
    const table = renderFigures(rows.map((row) => JSON.parse(row) as Figures));
    process.stdout.write(`\n${table}\nseed ${seed}, ${Math.round((performance.now() - beganMs) / 1000)} s\n`);
  };
}
