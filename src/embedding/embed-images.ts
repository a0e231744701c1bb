import { startDeadline } from '../platform/deadline.ts';
import { AppError } from '../platform/errors.ts';
import type { DecodedImage } from '../recognition/decode-images.ts';
import { type ImageReader, NO_TEXT_PLACEHOLDER } from '../recognition/read-images.ts';
import type { Account } from '../usage/account.ts';
import type { Meter } from '../usage/meter.ts';
import type { EmbeddedTexts, Embedder } from './embedder.ts';
import { nameField } from './name-field.ts';

export interface ImageContext {
  readonly embedder: Embedder;
  readonly meter: Meter;
  readonly reader: ImageReader;
  /** Time limit of a request, including reading and embedding. */
  readonly deadlineMs: number;
}

export interface EmbedImagesRequest {
  readonly images: readonly DecodedImage[];
  readonly model?: string | undefined;
  readonly dimensions?: number | null | undefined;
  readonly account: Account;
  readonly signal: AbortSignal;
}

/**
 * Embed images by the text in them. An image without text gets the vector of a fixed placeholder and the warning
 * `no-text-in-image`. The vectors have no padding.
 *
 * @throws AppError `quota_exceeded` (402) before reading anything, and errors of `ImageReader` and `Embedder`
 */
export async function embedImages(context: ImageContext, request: EmbedImagesRequest): Promise<EmbeddedTexts> {
  const { images, model, dimensions, account } = request;
  await context.embedder.requireModel(account, model);
  const deadline = startDeadline(context.deadlineMs, request.signal, tooSlow);
  const { signal } = deadline;
  const reservation = await context.meter.reserve(account, 'embed_image', images.length);
  try {
    const read = await context.reader.read(images, signal);
    const texts = read.map(({ text }) => text || NO_TEXT_PLACEHOLDER);
    const embedded = await context.embedder.embed({
      texts,
      model,
      dimensions,
      taskType: null,
      orgId: account.orgId,
      charge: null,
      unpadded: true,
      signal,
    });
    reservation.settle(
      embedded.used.map(({ model, texts: count, tokens }) => ({ model, texts: count, tokens, images: count })),
    );
    const isTextless = read.some(({ text }) => text === '');
    return isTextless ? { ...embedded, warnings: [...embedded.warnings, 'no-text-in-image'] } : embedded;
  } catch (error) {
    await reservation.release();
    throw nameField(error, 'images', (image) => `the text of ${image}`);
  } finally {
    deadline.clear();
  }
}

function tooSlow(): AppError {
  return new AppError({
    code: 'images_too_slow',
    status: 503,
    message: 'the images could not be read in time; send fewer images in one request',
    retryable: true,
    retryAfterSeconds: 5,
  });
}
