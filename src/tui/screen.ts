import { render } from 'ink';
import { createElement, Fragment, type ReactElement } from 'react';

/** A view on a terminal that is drawn again and again. */
export interface Screen {
  show(element: ReactElement): void;
  /** Rejects when a view cannot be drawn; resolves once the screen is closed. */
  readonly closed: Promise<void>;
  /** Take the view off and give the terminal back as it was: its cursor, its mode, its own screen. */
  close(): Promise<void>;
}

export interface ScreenOptions {
  readonly stdout: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  /** Draw on the terminal's other screen, so that nothing of the view remains, nor of what was there is lost. */
  readonly isAlternate: boolean;
}

/** Cursor to the upper left corner, everything erased (ECMA-48: CUP, ED 2). */
const HOME_AND_ERASE = '\u001b[H\u001b[2J';

/** Ctrl-C comes as a key while a view reads keys; signals are left to whoever opened the screen. */
export function openScreen(first: ReactElement, { stdout, stdin, isAlternate }: ScreenOptions): Screen {
  let shown = isAlternate ? createElement(Fragment) : first;
  const view = render(shown, {
    ...{ stdout, stdin, alternateScreen: isAlternate },
    // Whether this is a terminal was asked before; a variable named CI does not change that.
    interactive: true,
    exitOnCtrlC: false,
    patchConsole: false,
  });
  const closed = view.waitUntilExit().then(() => undefined);
  const show = (element: ReactElement) => {
    shown = element;
    view.rerender(element);
  };
  // The other screen is entered where the cursor stands, and a terminal that becomes smaller breaks the lines that are
  // on it; ink, which draws relative to the cursor, would leave what it does not know of.
  const beginAnew = () => {
    view.clear();
    stdout.write(HOME_AND_ERASE);
    show(shown);
  };
  if (isAlternate) {
    shown = first;
    beginAnew();
    stdout.on('resize', beginAnew);
  }
  return {
    closed,
    show,
    async close() {
      stdout.off('resize', beginAnew);
      if (!isAlternate) view.clear();
      view.unmount();
      await closed.catch(() => undefined);
    },
  };
}
