import { graphemeCut } from '../language/graphemes.ts';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { VisionSettings } from '../platform/provider-settings.ts';
import type { DecodedImage } from './decode-images.ts';
import { type OcrOptions, openOcr } from './ocr.ts';
import type { Transcriber } from './transcriber.ts';
import { openVision } from './vision.ts';

export const NO_TEXT_PLACEHOLDER = 'an image without text';

/** Maximum text length of one image in UTF-16 code units. A page has a few thousand. */
const TEXT_CHARS_MAX = 20_000;

export interface ImageReader {
  /**
   * Read the text of each image, in their order: NFC, white space collapsed, at most 20,000 characters, empty if none
   * was found. Read several images concurrently. The first failure aborts the others.
   *
   * @throws AppError `image_unreadable`, `image_too_slow`, `upstream_rejected` (400, `param` names the item),
   *   `provider_unavailable` (502), `images_overloaded` (503); the signal's reason once it is aborted
   */
  read(images: readonly DecodedImage[], signal: AbortSignal): Promise<{ readonly text: string }[]>;
  close(): Promise<void>;
}

/** Open a reader that uses the operator's vision model, or else OCR on this host. */
export function openImageReader(options: {
  readonly vision: VisionSettings | null | undefined;
  readonly logger: Logger;
  readonly ocr?: OcrOptions;
}): ImageReader {
  const { vision, logger } = options;
  return readerOf(vision ? openVision(vision, logger) : openOcr(logger, options.ocr));
}

/** Create a reader from a transcriber. It limits the number of concurrent images. */
export function readerOf(transcriber: Transcriber): ImageReader {
  return {
    async read(images, signal) {
      const giveUp = new AbortController();
      const either = AbortSignal.any([signal, giveUp.signal]);
      const readings = images.map(async (image, index) => {
        try {
          const { text } = await transcriber.transcribe(image, either);
          return { text: normalise(text) };
        } catch (error) {
          giveUp.abort();
          throw error instanceof AppError && error.status === 400 ? named(error, index) : error;
        }
      });
      const settled = await Promise.allSettled(readings);
      signal.throwIfAborted();
      // Ignore the errors of aborted images.
      const failed = settled.filter((reading) => reading.status === 'rejected');
      const first = failed.find(({ reason }) => reason !== giveUp.signal.reason);
      if (first !== undefined) throw first.reason;
      return settled.flatMap((reading) => (reading.status === 'fulfilled' ? [reading.value] : []));
    },
    close: () => transcriber.close(),
  };
}

function named(error: AppError, index: number): AppError {
  const param = `images[${index}]`;
  return new AppError({
    code: error.code,
    status: error.status,
    message: `${param}: ${error.message}`,
    param,
    cause: error.cause,
  });
}

/** Normalise the text of an image. Truncate it first, without splitting a character, since normalising takes time. */
function normalise(text: string): string {
  const collapsed = text
    .slice(0, TEXT_CHARS_MAX * 2)
    .toWellFormed()
    .normalize('NFC')
    // Treat control characters as white space. Remove zero-width characters.
    .replace(/[\u200b\u2060\ufeff]/g, '')
    .replace(/[\s\p{Cc}\ufffd]+/gu, ' ')
    .trim();
  if (collapsed.length <= TEXT_CHARS_MAX) return collapsed;
  return collapsed.slice(0, graphemeCut(collapsed, TEXT_CHARS_MAX)).trimEnd();
}
