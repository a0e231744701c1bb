import { pictureFormatOf } from '../detect-format.ts';
import { ExtractError, isPartCategory } from '../errors.ts';
import type { ImageSink, PageImage, SkippedPart } from '../reader.ts';

export const PICTURE_BYTES_MAX = 32 * 1024 * 1024;

/** Place to which the text of a picture belongs. */
export type PicturePlace = Pick<PageImage, 'page' | 'slide' | 'sheet'>;

/**
 * Passes the pictures of an office document on for recognition, as those of PDF pages: with the strategy `auto` those
 * of a slide, sheet or document without text, with `always` all. A picture that occurs several times is read once.
 * Drawings (EMF, WMF, SVG) are no pictures.
 */
export class PackagePictures {
  readonly skipped: SkippedPart[] = [];
  readonly #images: ImageSink | null;
  readonly #taken = new Set<string>();

  constructor(images: ImageSink | null) {
    this.#images = images;
  }

  /** Return true if pictures beside text, or without text, are to be read. */
  wants(hasText: boolean): boolean {
    return this.#images !== null && (this.#images.strategy === 'always' || !hasText);
  }

  /** @param read returns the bytes of the picture; null if it is missing */
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
      // A damaged picture must not prevent the text from being read.
      if (!(error instanceof ExtractError) || !isPartCategory(error.category)) throw error;
      this.skipped.push({ name: picture, category: error.category });
    }
  }
}
