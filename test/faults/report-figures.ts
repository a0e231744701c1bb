import { appendFileSync } from 'node:fs';
import { inject } from 'vitest';
import type { Figures } from './figures.ts';

/** Add a row to the table that is printed at the end of the run. */
export function reportFigures(figures: Figures): void {
  appendFileSync(inject('faults').figuresFile, `${JSON.stringify(figures)}\n`);
}
