import type { ReactElement } from 'react';
import { formatShare } from './figures.ts';
import { type Column, pane } from './top-panes.ts';

/** Model whose calibration is in progress or failed. */
export interface CalibrationLoad {
  readonly model: string;
  readonly state: 'wanted' | 'calibrating' | 'apart' | 'failed';
  readonly texts_done: number;
  readonly texts_total: number;
  readonly score: number | null;
  readonly reason: string | null;
}

/** Render the pane of calibrations, which the screen shows if there are any. */
export function calibrationPane(items: readonly CalibrationLoad[], columns: number, room: number): ReactElement {
  const table: Column<CalibrationLoad>[] = [
    { header: 'CALIBRATION', cells: columns > 90 ? 40 : 28, text: ({ model }) => model },
    {
      header: 'STATE',
      cells: 12,
      text: ({ state }) => state,
      style: ({ state }) => (state === 'apart' || state === 'failed' ? { color: 'yellow' } : {}),
    },
    { header: 'DONE', cells: 6, text: describeDone, isNumber: true },
    { header: '', cells: undefined, text: ({ reason, score }) => describeReason(reason, score) },
  ];
  return pane('calibrations', items, table, room, '');
}

function describeDone({ state, texts_done, texts_total }: CalibrationLoad): string {
  return state === 'calibrating' && texts_total > 0 ? formatShare(texts_done / texts_total) : '-';
}

function describeReason(reason: string | null, score: number | null): string {
  const told = score === null ? '' : ` (score ${score.toFixed(3)})`;
  return `${reason ?? ''}${told}`;
}
