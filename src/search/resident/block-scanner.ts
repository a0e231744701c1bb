import { Worker } from 'node:worker_threads';
import type { ScanBuild, ScanKernel, ScanMemory } from './kernel/scan-kernel.ts';
import { type ScanTask, ScanTurn, scanAlone } from './scan-turn.ts';

/** Passes over blocks from which on other threads help: fewer take less time than to wake a thread. */
const HELPED_PASSES_MIN = 64;
/** Size of the heap of a helping thread, which holds nothing but its code. */
const HELPER_HEAP_MB = 16;

/**
 * Scans the vectors of blocks by the signs of their components, on this thread and on helping ones. The helpers share
 * the memory of the kernel, and wait for the next task without taking time of a processor.
 */
export class BlockScanner {
  readonly #kernel: ScanKernel;
  readonly #turn: ScanTurn;
  readonly #startHelpers: () => void;
  #hasHelpers = false;
  #task: ScanTask | null = null;
  #isHelped = false;

  /** @param helpers number of helping threads, which are started when there is enough for them to do */
  constructor(kernel: ScanKernel, memory: ScanMemory, build: ScanBuild, helpers: number) {
    this.#kernel = kernel;
    this.#turn = new ScanTurn(helpers);
    const workerData = { memory, build, turn: this.#turn.shared };
    this.#startHelpers = () => {
      for (let nth = 0; nth < helpers; nth++) {
        const helper = new Worker(new URL('./scan-helper.ts', import.meta.url), {
          ...{ name: 'resident scan', workerData: { ...workerData, nth } },
          resourceLimits: { maxOldGenerationSizeMb: HELPER_HEAP_MB, maxYoungGenerationSizeMb: 1 },
        });
        // Without a helper the other threads scan all blocks.
        helper.on('error', () => undefined).unref();
      }
    };
  }

  /**
   * Begin with a task: helpers work on it, if it is worth it. `finish` must follow before another task.
   *
   * @returns true if helpers work on it
   */
  start(task: ScanTask): boolean {
    this.#task = task;
    const isLarge = task.blocks.length * (task.slots.end - task.slots.first) >= HELPED_PASSES_MIN;
    if (isLarge && !this.#hasHelpers) {
      this.#hasHelpers = true;
      this.#startHelpers();
    }
    this.#isHelped = isLarge && this.#turn.start(task);
    return this.#isHelped;
  }

  /** Complete the task. @throws Error if a helper does not end its part in time, or if none was begun */
  finish(): void {
    if (this.#task === null) throw new Error('no scan was begun');
    if (this.#isHelped) this.#turn.finish(this.#kernel);
    else scanAlone(this.#kernel, this.#task);
    this.#task = null;
  }
}
