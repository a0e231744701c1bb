import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { VisionSettings } from '../platform/provider-settings.ts';
import { checkImage, checkPixels, type DecodedImage, IMAGE_BYTES_MAX, ImageFault } from './decode-images.ts';
import { type OcrOptions, openOcr } from './ocr.ts';
import { isTiff, type TiffPage, tiffPages } from './tiff-pages.ts';
import type { Transcriber, Transcription } from './transcriber.ts';
import { openVision } from './vision.ts';

/** Maximum file size. It is larger than for an image in a request, because scans often have little compression. */
export const DOCUMENT_IMAGE_BYTES_MAX = 32 * 1024 * 1024;
/** CPU time limit per image. A page of small print takes 10 s, and no request waits for it. */
const IMAGE_MS_MAX = 120_000;
/** Maximum number of waiting document images, which have a separate queue. */
const WAITING_MAX = 10_000;

export interface DocumentImages {
  /**
   * Read the text of an image file (PNG, JPEG, WebP, GIF, or the first page of a TIFF file), separated by lines and
   * empty if there is none.
   *
   * @throws AppError `image_unreadable`, `image_too_slow`, `upstream_rejected` (400), `provider_unavailable` (502),
   *   `images_overloaded` (503); the signal's reason once it is aborted
   */
  read(file: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Transcription>;
  close(): Promise<void>;
}

/**
 * Open a reader that uses the operator's vision model, or else OCR on this host. TIFF files, and files too large to
 * send, are always read by OCR. Its processes are separate from those of requests, so that requests never wait for a
 * document of a thousand pages.
 */
export function openDocumentImages(options: {
  readonly vision: VisionSettings | null | undefined;
  readonly logger: Logger;
  readonly ocr?: OcrOptions;
}): DocumentImages {
  const { vision, logger } = options;
  const ocr = openOcr(logger, {
    imageBytesMax: DOCUMENT_IMAGE_BYTES_MAX,
    imageMs: IMAGE_MS_MAX,
    waitingMax: WAITING_MAX,
    ...options.ocr,
  });
  const model: Transcriber | null = vision ? openVision(vision, logger) : null;
  return {
    async read(file, signal) {
      const image = checked(file);
      if (image.format === 'tiff' || model === null || file.length > IMAGE_BYTES_MAX) {
        return ocr.transcribe(image, signal);
      }
      return model.transcribe(image, signal);
    },
    async close() {
      await ocr.close();
      await model?.close();
    },
  };
}

function checked(file: Uint8Array<ArrayBuffer>): DecodedImage | TiffPage {
  try {
    if (!isTiff(file)) return checkImage(file);
    const [page] = tiffPages(file, 1);
    if (page === undefined || page.width === 0 || page.height === 0) throw new ImageFault('has a damaged header');
    checkPixels(page);
    return page;
  } catch (error) {
    if (!(error instanceof ImageFault)) throw error;
    throw new AppError({ code: 'image_unreadable', status: 400, message: error.message, cause: error });
  }
}
