import type { ReactElement } from 'react';
import { AppError } from '../platform/errors.ts';
import { openScreen, type Screen } from '../tui/screen.ts';

/** Controls that a view may call. */
export interface ScreenControls {
  /** End the view, as finished or as interrupted. */
  leave(how: 'quit' | 'interrupt'): void;
  /** Draw the current snapshot again. */
  redraw(): void;
}

export interface ScreenRun<Snapshot> {
  /** Source of the snapshots. It throws the signal's reason once aborted. */
  readonly snapshots: (signal: AbortSignal) => AsyncIterable<Snapshot>;
  readonly draw: (snapshot: Snapshot, controls: ScreenControls) => ReactElement;
  /** Return true if the view ends after this snapshot. */
  readonly isLast?: (snapshot: Snapshot) => boolean;
  readonly isAlternate: boolean;
  readonly terminal: { readonly stdout: NodeJS.WriteStream; readonly stdin: NodeJS.ReadStream };
  readonly signal: AbortSignal;
}

/**
 * Draw snapshots as they arrive, until the user quits, the last one is drawn, or the signal aborts. Always restore the
 * terminal.
 *
 * @returns the last snapshot; null if the user left before the first one
 * @throws AppError `interrupted` (499) on Ctrl-C, and what `snapshots` throws
 */
export async function showOnScreen<Snapshot>(run: ScreenRun<Snapshot>): Promise<Snapshot | null> {
  const left = new AbortController();
  const signal = AbortSignal.any([run.signal, left.signal]);
  let screen: Screen | null = null;
  let last: Snapshot | null = null;
  try {
    for await (const snapshot of run.snapshots(signal)) {
      const draw = () =>
        run.draw(snapshot, {
          leave: (how) => left.abort(how === 'quit' ? QUIT : interrupted()),
          redraw: () => screen?.show(draw()),
        });
      last = snapshot;
      if (screen === null) {
        screen = openScreen(draw(), { ...run.terminal, isAlternate: run.isAlternate });
        screen.closed.catch((error) => left.abort(error));
      } else screen.show(draw());
      if (run.isLast?.(snapshot)) break;
    }
  } catch (error) {
    if (error !== QUIT) throw error;
  } finally {
    await screen?.close();
  }
  return last;
}

const QUIT = Symbol('the user left the view');

function interrupted(): AppError {
  return new AppError({ code: 'interrupted', status: 499, message: 'interrupted' });
}
