import type { DecodedImage } from './decode-images.ts';

/** Something that reads the text in an image: a vision model, or OCR on this machine. */
export interface Transcriber {
  /**
   * @returns plain text as it was found, empty where there is none
   * @throws AppError `image_unreadable` or `image_too_slow` (400) for an image that is at fault, `upstream_rejected`
   *   (400), `provider_unavailable` (502), `images_overloaded` (503); the signal's reason once it is aborted
   */
  transcribe(image: DecodedImage, signal: AbortSignal): Promise<string>;
  /** Ends what is under way. */
  close(): Promise<void>;
}
