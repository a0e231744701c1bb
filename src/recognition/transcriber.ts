import type { DecodedImage } from './decode-images.ts';

/** Reader of the text in an image: a vision model, or OCR on this machine. */
export interface Transcriber {
  /**
   * @returns the plain text of the image, empty if there is none
   * @throws AppError `image_unreadable` or `image_too_slow` (400) for a faulty image, `upstream_rejected` (400),
   *   `provider_unavailable` (502), `images_overloaded` (503); the signal's reason once it is aborted
   */
  transcribe(image: DecodedImage, signal: AbortSignal): Promise<string>;
  /** Abort the images in progress. */
  close(): Promise<void>;
}
