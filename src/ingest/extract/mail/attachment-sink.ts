import type { BlockDraft } from '../blocks.ts';
import type { BlockSink, ImageSink, OcrStrategy, PageImage } from '../reader.ts';

const HEADING_LEVEL = 2;

/** Sink that puts an attachment's blocks under a heading with its name, and marks them with the name. */
export class AttachmentSink implements BlockSink {
  readonly #outer: BlockSink;
  readonly name: string;
  #isOpen = false;
  #isFull = false;

  constructor(outer: BlockSink, name: string) {
    this.#outer = outer;
    this.name = name;
  }

  /** True if the document can't take more text. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Add the heading unless already added. @param page page of the text that follows */
  open(page?: number): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const heading: BlockDraft = { kind: 'heading', level: HEADING_LEVEL, text: this.name };
    this.#put(page === undefined ? heading : { ...heading, page });
  }

  add(block: BlockDraft): void {
    this.open(block.page);
    this.#put(block.kind === 'heading' ? { ...block, level: (block.level ?? 1) + HEADING_LEVEL } : block);
  }

  flush(): Promise<void> {
    return this.#outer.flush();
  }

  #put(block: BlockDraft): void {
    const file = block.file === undefined ? this.name : `${this.name} / ${block.file}`;
    try {
      this.#outer.add({ ...block, file });
    } catch (error) {
      this.#isFull = true;
      throw error;
    }
  }
}

/** Sink that adds the attachment's name to its pictures, after the heading with that name. */
export class AttachmentImages implements ImageSink {
  readonly strategy: OcrStrategy;
  readonly #outer: ImageSink;
  readonly #sink: AttachmentSink;

  constructor(outer: ImageSink, sink: AttachmentSink) {
    this.strategy = outer.strategy;
    this.#outer = outer;
    this.#sink = sink;
  }

  take({ part, ...image }: PageImage): Promise<boolean> {
    this.#sink.open(image.page);
    const { name } = this.#sink;
    return this.#outer.take({ ...image, part: part === undefined ? name : `${name} / ${part}` });
  }
}
