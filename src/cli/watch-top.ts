import { setTimeout as delay } from 'node:timers/promises';
import { createElement } from 'react';
import type { OperationOutput } from '../operations/registry.ts';
import { AppError } from '../platform/errors.ts';
import { Top, type TopSnapshot } from '../tui/top.ts';
import { hasColours } from './output.ts';
import { ServerGauge } from './server-load.ts';
import type { Session } from './session.ts';
import { type ScreenRun, showOnScreen } from './show-on-screen.ts';

export interface TopRun {
  readonly session: Session;
  /** Return the address, without a path, of the server to read metrics from. @throws AppError if there is none */
  readonly locate: () => Promise<string>;
  readonly intervalMs: number;
  readonly signal: AbortSignal;
}

/**
 * Read the load of an installation at each interval. Rates are differences between readings, so the first snapshot has
 * rates of 0.
 *
 * @throws the signal's reason; AppError of the first reading, such as `postgres_unavailable` (503)
 */
async function* watchTop({ session, locate, intervalMs, signal }: TopRun): AsyncGenerator<TopSnapshot, void> {
  const gauge = new ServerGauge(locate);
  let last: OperationOutput<'jobs.load'> | null = null;
  for (;;) {
    signal.throwIfAborted();
    const reading = gauge.read(signal);
    // It is awaited below. Until then a rejection would count as unhandled.
    reading.catch(() => undefined);
    let trouble: string | null = null;
    try {
      last = await session.call('jobs.load', {});
    } catch (error) {
      if (last === null || !(error instanceof AppError) || !isPassing(error)) throw error;
      trouble = error.message;
    }
    yield { object: 'top_snapshot', trouble, ...last, server: await reading };
    await delay(intervalMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Return true if the next reading may succeed, for example after a restart of the server. */
function isPassing({ code, retryable }: AppError): boolean {
  return retryable || code === 'server_stopped';
}

/** Return one snapshot, with rates over one interval. */
export async function topOnce(run: TopRun): Promise<TopSnapshot> {
  let readings = 0;
  for await (const snapshot of watchTop(run)) {
    // Without a server, there are no rates to measure.
    if (++readings === 2 || snapshot.server.trouble !== null) return snapshot;
  }
  throw new Error('the watch ended by itself');
}

/**
 * Redraw the screen at each interval, until the user quits or the signal aborts.
 *
 * @throws AppError `interrupted` (499) on Ctrl-C
 */
export async function topOnScreen(run: TopRun, terminal: ScreenRun<TopSnapshot>['terminal']): Promise<void> {
  await showOnScreen({
    terminal,
    signal: run.signal,
    isAlternate: true,
    snapshots: (signal) => watchTop({ ...run, signal }),
    draw: (snapshot, { leave }) =>
      createElement(Top, {
        snapshot,
        onLeave: leave,
        isColoured: hasColours(terminal.stdout),
        hasKeys: terminal.stdin.isTTY,
      }),
  });
}
