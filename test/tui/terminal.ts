import { render } from 'ink-testing-library';
import type { ReactElement } from 'react';
import stringWidth from 'string-width';

/** Sequences that keys send. */
export const KEYS = {
  up: '\u001b[A',
  down: '\u001b[B',
  left: '\u001b[D',
  right: '\u001b[C',
  enter: '\r',
  escape: '\u001b',
};

/** Render a view on a terminal that exists only in memory. */
export function showView(element: ReactElement, size: { columns: number; rows: number }) {
  const view = render(element);
  const resize = (columns: number, rows: number) => {
    for (const [name, value] of Object.entries({ columns, rows })) {
      Object.defineProperty(view.stdout, name, { value, configurable: true });
    }
    view.stdout.emit('resize');
  };
  resize(size.columns, size.rows);
  view.rerender(element);
  return {
    ...view,
    resize,
    frame: () => view.lastFrame() ?? '',
    lines: () => (view.lastFrame() ?? '').split('\n'),
    /** Cells of its widest line. */
    width: () => Math.max(...(view.lastFrame() ?? '').split('\n').map((line) => stringWidth(line))),
    pressKeys: (...keys: string[]) => {
      for (const key of keys) view.stdin.write(key);
    },
  };
}
