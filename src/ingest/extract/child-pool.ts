import type { ChildFormat } from './child-protocol.ts';
import { type Child, type ChildLimits, startChild } from './start-child.ts';

/** Pool of processes that each read one document. */
export interface ChildPool {
  /** Take a process that is waiting for its task. The caller then owns it. */
  take(limits: ChildLimits, format: ChildFormat): Promise<Child>;
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
 * Open a pool that starts a spare process whenever one is taken. The spare loads the code of the same format in
 * advance, which is the most likely next one. No process ever reads two documents. The pool kills a spare that isn't
 * taken within `idleMs`.
 */
export function openChildPool({ idleMs = IDLE_MS }: { idleMs?: number } = {}): ChildPool {
  let spare: Spare | null = null;
  let isClosed = false;
  const drop = (dropped: Spare) => {
    if (spare === dropped) spare = null;
    clearTimeout(dropped.timer);
    dropped.child.kill('SIGKILL');
  };
  const prepare = async (limits: ChildLimits, format: ChildFormat) => {
    const child = await startChild(limits, format);
    const own: Spare = { child, limits, format, timer: setTimeout(() => drop(own), idleMs).unref() };
    // Drop a spare that died or never started.
    child.on('error', () => drop(own)).once('exit', () => drop(own));
    child.stdin.on('error', () => {});
    // The pool was closed meanwhile, or another take has prepared a spare.
    if (isClosed || spare !== null) drop(own);
    else spare = own;
  };
  return {
    async take(limits, format) {
      const ready = spare;
      spare = null;
      if (ready !== null) clearTimeout(ready.timer);
      const fits = ready !== null && ready.format === format && hasSameLimits(ready.limits, limits);
      if (ready !== null && !fits) ready.child.kill('SIGKILL');
      const child = fits ? ready.child : await startChild(limits, format);
      // Ignore a spare that fails to start: the next take starts its own process and reports the reason.
      if (!isClosed) void prepare(limits, format).catch(() => {});
      return child;
    },
    close() {
      isClosed = true;
      if (spare !== null) drop(spare);
    },
  };
}

function hasSameLimits(one: ChildLimits, other: ChildLimits): boolean {
  return one.memoryBytesMax === other.memoryBytesMax && one.deadlineMs === other.deadlineMs;
}
