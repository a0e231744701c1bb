import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import { type DocumentImages, openDocumentImages } from './document-images.ts';
import { type ImageReader, openImageReader } from './read-images.ts';

/** Readers of text in images. Separate processes read images of requests and of documents. */
export interface Recognition {
  readonly requests: ImageReader;
  readonly documents: DocumentImages;
  close(): Promise<void>;
}

export function openRecognition(context: {
  readonly config: Pick<Config, 'vision'>;
  readonly logger: Logger;
}): Recognition {
  const settings = { vision: context.config.vision, logger: context.logger };
  const requests = openImageReader(settings);
  const documents = openDocumentImages(settings);
  return {
    requests,
    documents,
    async close() {
      await Promise.all([requests.close(), documents.close()]);
    },
  };
}
