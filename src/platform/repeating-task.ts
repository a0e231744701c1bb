import { setTimeout as delay } from 'node:timers/promises';
import type { Service } from './lifecycle.ts';
import type { Logger } from './logger.ts';

/**
 * Create the service that runs `task` immediately and then `everyMs` after each run ends. If a run fails, log the error
 * and run again after the interval. `start` doesn't wait for the first run.
 */
export function repeatingTask(
  name: string,
  everyMs: number,
  logger: Logger,
  task: (signal: AbortSignal) => Promise<void>,
): Service {
  const stop = new AbortController();
  let loop = Promise.resolve();
  return {
    name,
    async start() {
      loop = (async () => {
        while (!stop.signal.aborted) {
          try {
            await task(stop.signal);
          } catch (error) {
            if (!stop.signal.aborted) logger.warn({ err: error }, `${name} failed; trying again later`);
          }
          await delay(everyMs, undefined, { signal: stop.signal }).catch(() => undefined);
        }
      })();
    },
    async stop() {
      stop.abort();
      await loop;
    },
  };
}
