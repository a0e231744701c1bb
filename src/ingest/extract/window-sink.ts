import { setImmediate } from 'node:timers/promises';
import { type BlockDraft, TextAssembler, type TextWindow } from './blocks.ts';
import type { Deadline } from './deadline.ts';
import type { BlockSink } from './reader.ts';

/** A document is handed on in windows of so many characters or somewhat more. */
export const WINDOW_CHARS = 1024 * 1024;
/** Between two looks at the clock and the signal, and turns of the event loop. */
const PAUSE_CHARS = 256 * 1024;

export interface WindowOptions {
  readonly blocksMax: number;
  readonly textCharsMax: number;
  readonly windowChars: number;
  readonly take: (window: TextWindow) => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

/** Gathers the blocks of a document to windows and hands them on, one at a time. */
export class WindowSink implements BlockSink {
  readonly #assembler: TextAssembler;
  readonly #options: WindowOptions;
  /** While the document is read in this process. */
  #clock: { deadline: Deadline; tooSlow: () => Error } | null = null;
  #sincePause = 0;
  #windows = 0;

  constructor(options: WindowOptions) {
    this.#options = options;
    this.#assembler = new TextAssembler(options);
  }

  /** From now on `flush` throws once the time is over, and does not count what is spent on windows. */
  watch(deadline: Deadline, tooSlow: () => Error): void {
    this.#clock = { deadline, tooSlow };
  }

  /** @throws ExtractError `too_large` past a bound */
  add(block: BlockDraft): void {
    this.#assembler.add(block);
    // Every block costs something, empty ones too.
    this.#sincePause += block.text.length + 64;
  }

  /** @throws the signal's reason; what `take` throws */
  async flush(): Promise<void> {
    if (this.#assembler.mayEndWindow(this.#options.windowChars)) await this.#transferResult();
    if (this.#sincePause < PAUSE_CHARS) return;
    this.#sincePause = 0;
    await setImmediate();
    this.#options.signal?.throwIfAborted();
    if (this.#clock?.deadline.isOver) throw this.#clock.tooSlow();
  }

  /** The last window; the only one of a document without text is empty. */
  async finish(): Promise<void> {
    if (this.#windows === 0 || !this.#assembler.isEmpty) await this.#transferResult();
  }

  async #transferResult(): Promise<void> {
    this.#windows++;
    const taken = this.#options.take(this.#assembler.takeWindow());
    await (this.#clock === null ? taken : this.#clock.deadline.pause(taken));
  }
}
