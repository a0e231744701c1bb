import { render } from 'ink';
import { createElement, Fragment, type ReactElement } from 'react';

/** Repeatedly drawn view on a terminal. */
export interface Screen {
  show(element: ReactElement): void;
  /** Promise that resolves once the screen is closed, and rejects if a view can't be drawn. */
  readonly closed: Promise<void>;
  /** Remove the view and restore the terminal: its cursor, its mode and its main screen. */
  close(): Promise<void>;
}

export interface ScreenOptions {
  readonly stdout: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  /** True to draw on the terminal's alternate screen, so that the main screen is preserved. */
  readonly isAlternate: boolean;
}

/** Sequence that moves the cursor to the upper left corner and erases everything (ECMA-48: CUP, ED 2). */
const HOME_AND_ERASE = '\u001b[H\u001b[2J';

/** Open a screen. Ctrl-C arrives as a key while a view reads keys. The caller handles signals. */
export function openScreen(first: ReactElement, { stdout, stdin, isAlternate }: ScreenOptions): Screen {
  let shown = isAlternate ? createElement(Fragment) : first;
  const view = render(shown, {
    stdout,
    stdin,
    alternateScreen: isAlternate,
    // The caller has checked that this is a terminal; a variable named CI does not change that.
    interactive: true,
    exitOnCtrlC: false,
    patchConsole: false,
  });
  const closed = view.waitUntilExit().then(() => undefined);
  const show = (element: ReactElement) => {
    shown = element;
    view.rerender(element);
  };
  // The alternate screen starts at the cursor position, and a shrinking terminal wraps its lines. Ink draws relative to
  // the cursor and would leave remnants of such lines.
  const redraw = () => {
    view.clear();
    stdout.write(HOME_AND_ERASE);
    show(shown);
  };
  if (isAlternate) {
    shown = first;
    redraw();
    stdout.on('resize', redraw);
  }
  return {
    closed,
    show,
    async close() {
      stdout.off('resize', redraw);
      if (!isAlternate) view.clear();
      view.unmount();
      await closed.catch(() => undefined);
    },
  };
}
