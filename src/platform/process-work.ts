import { readFileSync } from 'node:fs';

export interface WorkLimits {
  /** Remaining CPU time of the process. */
  readonly cpuMs: number;
  /** Time without any progress after which the process counts as hung. Even a starved process makes some progress. */
  readonly hangMs: number;
}

/** Limit that was exceeded: `work` for CPU time, `hang` for time without progress. */
export type WorkFault = 'work' | 'hang';

const POLL_MS = 50;
/** Linux counts CPU time in hundredths of a second. */
const MS_PER_TICK = 10;
/** CPU time that counts as progress. A process that only waits uses less in many minutes. */
const PROGRESS_CPU_MS = 50;

/**
 * Watchdog for the work of a process. On a busy host a process may get a hundredth of a core. Therefore the limit is in
 * CPU time, and wall clock time only ends a process that makes no progress at all. If the system doesn't report CPU
 * time (`/proc` is Linux only), use the wall clock instead.
 */
export class WorkWatch {
  readonly #pid: number | undefined;
  readonly #hangMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #firstCpuMs: number | null;
  #cpuMaxMs: number;
  #cpuMs = 0;
  /** CPU time at the last progress, and the time of it. */
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

  /** CPU time that the process has used since the watch began. */
  get cpuMs(): number {
    this.#poll();
    return this.#cpuMs;
  }

  extend(cpuMs: number): void {
    this.#cpuMaxMs += cpuMs;
  }

  /** Record progress other than CPU time: the process received or sent data. */
  progressed(): void {
    this.#progressAt = performance.now();
  }

  /** Exclude the time until `work` settles, during which the process waits for us. */
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

/** Read the CPU time of a process and its threads; null if the system doesn't report it. */
function cpuMsOf(pid: number | undefined): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program name is in parentheses and may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return Number.isNaN(ticks) ? null : ticks * MS_PER_TICK;
  } catch {
    return null; // The process has ended, or there is no /proc.
  }
}
