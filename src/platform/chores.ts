import type { Service } from './lifecycle.ts';
import type { Logger } from './logger.ts';
import { repeatingTask } from './repeating-task.ts';

/** Periodic maintenance task. Any process may run it at any time. */
export interface Chore {
  readonly name: string;
  readonly everyMs: number;
  run(signal: AbortSignal): Promise<void>;
}

/** Create the service that runs every chore immediately and then at the chore's interval. */
export function choreService(name: string, chores: readonly Chore[], logger: Logger): Service {
  const tasks = chores.map((chore) => repeatingTask(chore.name, chore.everyMs, logger, (signal) => chore.run(signal)));
  return {
    name,
    async start(signal) {
      for (const task of tasks) await task.start(signal);
    },
    async stop() {
      for (const task of tasks.toReversed()) await task.stop();
    },
  };
}

/** Run every chore once, in sequence. @throws the error of the first chore that failed, after all have run */
export async function doChores(
  chores: readonly Chore[],
  signal: AbortSignal,
  onDone: (chore: Chore) => void = () => {},
): Promise<void> {
  const faults: unknown[] = [];
  for (const chore of chores) {
    signal.throwIfAborted();
    try {
      await chore.run(signal);
      onDone(chore);
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}
