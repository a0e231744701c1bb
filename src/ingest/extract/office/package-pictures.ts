import { pictureFormatOf } from '../detect-format.ts';
import { ExtractError, isPartCategory } from '../errors.ts';
import type { ImageSink, PageImage, SkippedPart } from '../reader.ts';

export const PICTURE_BYTES_MAX = 32 * 1024 * 1024;

/** Place that a picture's text belongs to. */
export type PicturePlace = Pick<PageImage, 'page' | 'slide' | 'sheet'>;

/**
 * Pictures of an office document on their way to recognition, like those of PDF pages: with the strategy `auto`, those
 * of a slide, sheet or document without text; with `always`, all. A repeated picture is read once. Drawings (EMF, WMF,
 * SVG) don't count as pictures.
 */
export class PackagePictures {
  readonly skipped: SkippedPart[] = [];
  readonly #images: ImageSink | null;
  readonly #taken = new Set<string>();

  constructor(images: ImageSink | null) {
    this.#images = images;
  }

  /** Return true if pictures are to be read beside text (if `hasText`) or without text. */
  wants(hasText: boolean): boolean {
    return this.#images !== null && (this.#images.strategy === 'always' || !hasText);
  }

  /** @param read returns the bytes of the picture, or null if it is missing */
  async take(name: string, place: PicturePlace, read: () => Promise<Uint8Array | null>): Promise<void> {
    if (this.#images === null || this.#taken.has(name)) return;
    this.#taken.add(name);
    const picture = name.slice(name.lastIndexOf('/') + 1);
    try {
      const file = await read();
      if (file === null || pictureFormatOf(file) === null) return;
      const isTaken = await this.#images.take({ file, picture, ...place });
      if (!isTaken) this.skipped.push({ name: picture, category: 'too_large' });
    } catch (error) {
      // A damaged picture must not prevent reading the text.
      if (!(error instanceof ExtractError) || !isPartCategory(error.category)) throw error;
      this.skipped.push({ name: picture, category: error.category });
    }
  }
}
