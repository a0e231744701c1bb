import { readFileSync } from 'node:fs';

export interface WorkLimits {
  /** Processor time that the process may use from now on. */
  readonly cpuMs: number;
  /** Time without any progress after which the process counts as hung. A starved process still makes some. */
  readonly hangMs: number;
}

/** Limit that was exceeded: `work` for processor time, `hang` for time without progress. */
export type WorkFault = 'work' | 'hang';

const POLL_MS = 50;
/** Linux counts processor time in hundredths of a second. */
const MS_PER_TICK = 10;
/** Processor time that is progress. A process that only waits uses less in many minutes. */
const PROGRESS_CPU_MS = 50;

/**
 * Watch over the work of a process. On a busy host a process may get a hundredth of a core, so its work is limited in
 * processor time, and wall clock time only ends a process that makes no progress at all. Where the system reports no
 * processor time (`/proc` is Linux only), the wall clock is used for it.
 */
export class WorkWatch {
  readonly #pid: number | undefined;
  readonly #hangMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #firstCpuMs: number | null;
  #cpuMaxMs: number;
  #cpuMs = 0;
  /** Processor time at the last progress, and when it was. */
  #seenCpuMs = 0;
  #progressAt = performance.now();
  #polledAt = performance.now();
  #pauses = 0;

  constructor(pid: number | undefined, limits: WorkLimits, onOver: (fault: WorkFault) => void) {
    this.#pid = pid;
    this.#cpuMaxMs = limits.cpuMs;
    this.#hangMs = limits.hangMs;
    this.#firstCpuMs = cpuMsOf(pid);
    this.#timer = setInterval(() => {
      this.#poll();
      const fault = this.#fault();
      if (fault === null) return;
      this.stop();
      onOver(fault);
    }, POLL_MS);
  }

  /** Processor time that the process has used since the watch began. */
  get cpuMs(): number {
    this.#poll();
    return this.#cpuMs;
  }

  extend(cpuMs: number): void {
    this.#cpuMaxMs += cpuMs;
  }

  /** Note progress of another kind than work: the process took or gave data. */
  progressed(): void {
    this.#progressAt = performance.now();
  }

  /** Do not count the time until `work` has settled, during which the process waits for us. */
  async pause<T>(work: Promise<T>): Promise<T> {
    this.#poll();
    this.#pauses++;
    try {
      return await work;
    } finally {
      this.#poll();
      this.#pauses--;
      this.progressed();
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #poll(): void {
    const now = performance.now();
    const used = this.#firstCpuMs === null ? null : cpuMsOf(this.#pid);
    if (used !== null) this.#cpuMs = used - (this.#firstCpuMs as number);
    else if (this.#firstCpuMs === null && this.#pauses === 0) this.#cpuMs += now - this.#polledAt;
    this.#polledAt = now;
    if (this.#cpuMs - this.#seenCpuMs < PROGRESS_CPU_MS) return;
    this.#seenCpuMs = this.#cpuMs;
    this.#progressAt = now;
  }

  #fault(): WorkFault | null {
    if (this.#cpuMs > this.#cpuMaxMs) return 'work';
    return this.#pauses === 0 && performance.now() - this.#progressAt > this.#hangMs ? 'hang' : null;
  }
}

/** Read the processor time of a process and its threads; null if the system does not report it. */
function cpuMsOf(pid: number | undefined): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program is in parentheses, and may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return Number.isNaN(ticks) ? null : ticks * MS_PER_TICK;
  } catch {
    return null; // The process has ended, or there is no /proc.
  }
}
