import { type EmbedImagesRequest, embedImages, type ImageContext } from '../../src/embedding/embed-images.ts';
import { EmbedImageRequest, EmbedImageResponse } from '../../src/embedding/image-schema.ts';
import type { FairGate } from '../../src/platform/fair-gate.ts';
import type { Threads } from '../../src/platform/threads.ts';
import { defineRoute, type Route } from '../route.ts';
import { EMBEDDING_REFUSALS, VECTOR_HEADERS, vectorRowsReply } from './embeddings.ts';
import { parseImageBody } from './parse-image-body.ts';

export function imageRoutes(
  context: ImageContext,
  settings: { threads: Threads; bodyBytes: number; renders: FairGate },
): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/embed/image',
      whileMoving: true,
      operationId: 'embedImages',
      summary: 'Embed the text in up to 20 images',
      access: 'embed',
      errors: 'embedding',
      bodyLimitBytes: settings.bodyBytes,
      capacity: 'none',
      body: EmbedImageRequest,
      parse: (bytes, signal) => parseImageBody(settings.threads, bytes, signal),
      axis: () => 'embed_image',
      responses: {
        200: { description: 'Vectors in the order of the images', schema: EmbedImageResponse, headers: VECTOR_HEADERS },
      },
      refusals: EMBEDDING_REFUSALS,
      async handle({ body, caller, signal }) {
        const { images, model, dimensions } = body;
        const request: EmbedImagesRequest = { images, model, dimensions, account: caller, signal };
        const result = await embedImages(context, request);
        const usage = { image_count: images.length, tokens: result.tokens };
        return vectorRowsReply(result, usage, { renders: settings.renders, orgId: caller.orgId, signal });
      },
    }),
  ];
}
