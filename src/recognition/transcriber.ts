import type { DecodedImage } from './decode-images.ts';

export interface Transcription {
  /** Plain text of the image, empty if there is none. */
  readonly text: string;
  /** Mean confidence of the letters in percent, or null without letters and for a vision model. */
  readonly confidence: number | null;
  /** CPU time used; omitted by a vision model. */
  readonly workMs?: number;
}

/** Reader of text in images: a vision model, or OCR on this host. */
export interface Transcriber {
  /**
   * Read the text of an image.
   *
   * @throws AppError `image_unreadable` or `image_too_slow` (400) for a faulty image, `upstream_rejected` (400),
   *   `provider_unavailable` (502), `images_overloaded` (503); the signal's reason once it is aborted
   */
  transcribe(image: DecodedImage, signal: AbortSignal): Promise<Transcription>;
  /** Abort pending images. */
  close(): Promise<void>;
}
