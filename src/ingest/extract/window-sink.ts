import { setImmediate } from 'node:timers/promises';
import { type BlockDraft, TextAssembler, type TextWindow } from './blocks.ts';
import type { Deadline } from './deadline.ts';
import type { BlockSink } from './reader.ts';

/** Size of a window in characters. A window may be slightly larger. */
export const WINDOW_CHARS = 1024 * 1024;
/** Characters between yields to the event loop. Deadline and signal are checked after each yield. */
const YIELD_CHARS = 256 * 1024;

export interface WindowOptions {
  readonly blocksMax: number;
  readonly textCharsMax: number;
  readonly windowChars: number;
  readonly take: (window: TextWindow) => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

/** Sink that collects a document's blocks into windows and passes them on one at a time. */
export class WindowSink implements BlockSink {
  readonly #assembler: TextAssembler;
  readonly #options: WindowOptions;
  /** Deadline to check while the document is read in this process; otherwise null. */
  #clock: { deadline: Deadline; tooSlow: () => Error } | null = null;
  #charsSinceYield = 0;
  #windows = 0;

  constructor(options: WindowOptions) {
    this.#options = options;
    this.#assembler = new TextAssembler(options);
  }

  /** Make `flush` throw once the deadline has passed, and pause the deadline while windows are processed. */
  watch(deadline: Deadline, tooSlow: () => Error): void {
    this.#clock = { deadline, tooSlow };
  }

  /** @throws ExtractError `too_large` beyond a limit */
  add(block: BlockDraft): void {
    this.#assembler.add(block);
    // Every block has a cost, even an empty one.
    this.#charsSinceYield += block.text.length + 64;
  }

  /**
   * Pass on a complete window, and occasionally yield to the event loop.
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

  /** Pass on the last window. For a document without text, it is an empty one. */
  async finish(): Promise<void> {
    if (this.#windows === 0 || !this.#assembler.isEmpty) await this.#passWindow();
  }

  async #passWindow(): Promise<void> {
    this.#windows++;
    const taken = this.#options.take(this.#assembler.takeWindow());
    await (this.#clock === null ? taken : this.#clock.deadline.pause(taken));
  }
}
