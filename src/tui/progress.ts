import { Box, render, Text, type TextProps } from 'ink';
import { createElement } from 'react';

/** Progress of long work. */
export interface ProgressState {
  /** Name of the phase, such as "uploading". */
  readonly label: string;
  readonly done: number;
  readonly total: number;
  readonly failed: number;
  /** Name of the last finished item. */
  readonly last: string;
  readonly isColoured: boolean;
}

const BAR_CELLS = 30;

/** Render one line: `uploading ██████░░░░ 12/40  1 failed  manual.pdf`. */
export function Progress({ label, done, total, failed, last, isColoured }: ProgressState) {
  const filled = total === 0 ? BAR_CELLS : Math.floor((done / total) * BAR_CELLS);
  // Only a long name is cut; the other parts keep their width.
  const part = (key: string, text: string, props: TextProps = {}) =>
    createElement(Box, { key, flexShrink: 0 }, createElement(Text, isColoured ? props : {}, text));
  return createElement(
    Box,
    { gap: 1 },
    part('label', label, { bold: true }),
    part('bar', '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled), { color: 'green' }),
    part('count', `${done}/${total}`),
    failed > 0 ? part('failed', `${failed} failed`, { color: 'red' }) : null,
    createElement(Text, { key: 'last', wrap: 'truncate', dimColor: isColoured }, last),
  );
}

/** Draw progress in place on a terminal. `close` leaves the last state on the screen. */
export function openProgressView(stream: NodeJS.WriteStream): { update(state: ProgressState): void; close(): void } {
  let view: ReturnType<typeof render> | null = null;
  return {
    update(state) {
      const element = createElement(Progress, state);
      // Keep Ctrl-C a signal, so that the command itself decides how to end.
      if (view === null) view = render(element, { stdout: stream, exitOnCtrlC: false, patchConsole: false });
      else view.rerender(element);
    },
    close() {
      view?.unmount();
      view = null;
    },
  };
}
