import { setImmediate } from 'node:timers/promises';
import { type BlockDraft, TextAssembler, type TextWindow } from './blocks.ts';
import type { Deadline } from './deadline.ts';
import type { BlockSink } from './reader.ts';

/** Size of a window in characters. A window may be somewhat larger. */
export const WINDOW_CHARS = 1024 * 1024;
/** Characters between two yields to the event loop. After each yield, deadline and signal are checked. */
const YIELD_CHARS = 256 * 1024;

export interface WindowOptions {
  readonly blocksMax: number;
  readonly textCharsMax: number;
  readonly windowChars: number;
  readonly take: (window: TextWindow) => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

/** Sink that collects the blocks of a document into windows and passes them on one at a time. */
export class WindowSink implements BlockSink {
  readonly #assembler: TextAssembler;
  readonly #options: WindowOptions;
  /** Deadline that is checked while the document is read in this process; null otherwise. */
  #clock: { deadline: Deadline; tooSlow: () => Error } | null = null;
  #charsSinceYield = 0;
  #windows = 0;

  constructor(options: WindowOptions) {
    this.#options = options;
    this.#assembler = new TextAssembler(options);
  }

  /** Make `flush` throw once the deadline is over, and pause the deadline while windows are processed. */
  watch(deadline: Deadline, tooSlow: () => Error): void {
    this.#clock = { deadline, tooSlow };
  }

  /** @throws ExtractError `too_large` past a bound */
  add(block: BlockDraft): void {
    this.#assembler.add(block);
    // Every block has a cost, even an empty one.
    this.#charsSinceYield += block.text.length + 64;
  }

  /**
   * Pass a complete window on, and yield to the event loop from time to time.
   * @throws the signal's reason; errors of `take`
   */
  async flush(): Promise<void> {
    if (this.#assembler.mayEndWindow(this.#options.windowChars)) await this.#passWindow();
    if (this.#charsSinceYield < YIELD_CHARS) return;
    this.#charsSinceYield = 0;
    await setImmediate();
    this.#options.signal?.throwIfAborted();
    if (this.#clock?.deadline.isOver) throw this.#clock.tooSlow();
  }

  /** Pass the last window on. The only window of a document without text is empty. */
  async finish(): Promise<void> {
    if (this.#windows === 0 || !this.#assembler.isEmpty) await this.#passWindow();
  }

  async #passWindow(): Promise<void> {
    this.#windows++;
    const taken = this.#options.take(this.#assembler.takeWindow());
    await (this.#clock === null ? taken : this.#clock.deadline.pause(taken));
  }
}
