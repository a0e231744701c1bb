import { z } from 'zod';
import { DIMENSIONS_MAX } from '../projection/resize.ts';
import { type DecodedImage, decodeImage, ImageFault } from '../recognition/decode-images.ts';

export const IMAGES_MAX = 20;

/**
 * List of base64 strings, parsed to decoded images, so that all faults appear in one place and name their item
 * (`images[3]`). Decoding 20 images of 10 MB blocks the event loop for too long, so parse such a body on a thread.
 */
const Images = z
  .unknown()
  .transform((images, context): DecodedImage[] => {
    const refuse = (path: number[], message: string) => {
      context.addIssue({ code: 'custom', path, message });
      return z.NEVER;
    };
    if (images === undefined) return refuse([], 'is required: a list of base64 strings');
    if (!Array.isArray(images)) return refuse([], 'must be a list of base64 strings');
    if (images.length === 0) return refuse([], 'must have at least one image');
    if (images.length > IMAGES_MAX)
      return refuse([], `takes up to ${IMAGES_MAX} images; send the rest in another request`);
    const decoded: DecodedImage[] = [];
    for (const [index, image] of images.entries()) {
      if (typeof image !== 'string') return refuse([index], 'must be a base64 string');
      try {
        decoded.push(decodeImage(image));
      } catch (error) {
        if (!(error instanceof ImageFault)) throw error;
        return refuse([index], error.message);
      }
    }
    return decoded;
  })
  .meta({
    type: 'array',
    items: { type: 'string', minLength: 1, contentEncoding: 'base64' },
    minItems: 1,
    maxItems: IMAGES_MAX,
    description: 'PNG, JPEG, WebP or GIF in base64, with or without a data: prefix; up to 10 MB each',
  });

/** Body of `POST /v1/embed/image` (contract 4.8). */
export const EmbedImageRequest = z.object({
  images: Images,
  model: z.string().min(1).max(200).optional(),
  dimensions: z.int().min(1).max(DIMENSIONS_MAX).nullish(),
});
export type EmbedImageRequest = z.output<typeof EmbedImageRequest>;

export const EmbedImageResponse = z
  .object({
    embeddings: z.array(z.array(z.number())).describe('one vector for each image, in their order'),
    model: z.string(),
    dimensions: z.int(),
    usage: z.object({ image_count: z.int(), tokens: z.int() }),
  })
  .meta({ id: 'EmbeddedImages' });
