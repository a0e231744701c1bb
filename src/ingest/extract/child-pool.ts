import type { ChildFormat } from './child-protocol.ts';
import { type Child, type ChildLimits, startChild } from './start-child.ts';

/** Processes that each read one document. */
export interface ChildPool {
  /** One that waits for its task; from now on the taker looks after it. */
  take(limits: ChildLimits, format: ChildFormat): Child;
  close(): void;
}

interface Spare {
  readonly child: Child;
  readonly limits: ChildLimits;
  readonly format: ChildFormat;
  readonly timer: NodeJS.Timeout;
}

const IDLE_MS = 30_000;

/**
 * Keeps one process ready once another was taken, for a document of the same format is the likeliest to come next: its
 * start and the loading of its code are then over. No process ever reads two documents. A spare that nobody takes ends
 * after `idleMs`.
 */
export function openChildPool({ idleMs = IDLE_MS }: { idleMs?: number } = {}): ChildPool {
  let spare: Spare | null = null;
  let isClosed = false;
  const drop = (dropped: Spare) => {
    if (spare === dropped) spare = null;
    clearTimeout(dropped.timer);
    dropped.child.kill('SIGKILL');
  };
  const prepare = (limits: ChildLimits, format: ChildFormat) => {
    const child = startChild(limits, format);
    const own: Spare = { child, limits, format, timer: setTimeout(() => drop(own), idleMs).unref() };
    // It may die, or never have started; then it is not there when it is wanted.
    child.on('error', () => drop(own)).once('exit', () => drop(own));
    child.stdin.on('error', () => {});
    spare = own;
  };
  return {
    take(limits, format) {
      const ready = spare;
      spare = null;
      if (ready !== null) clearTimeout(ready.timer);
      const isFit = ready !== null && ready.format === format && isAlike(ready.limits, limits);
      if (ready !== null && !isFit) ready.child.kill('SIGKILL');
      const child = isFit ? ready.child : startChild(limits, format);
      if (!isClosed) prepare(limits, format);
      return child;
    },
    close() {
      isClosed = true;
      if (spare !== null) drop(spare);
    },
  };
}

function isAlike(one: ChildLimits, other: ChildLimits): boolean {
  return one.memoryBytesMax === other.memoryBytesMax && one.deadlineMs === other.deadlineMs;
}
