import type { IngestOptions } from '../documents/schema.ts';
import { jobErrorCategoryOf } from '../embedding/job-error-category.ts';
import { asJobError } from '../jobs/lease.ts';
import { AppError } from '../platform/errors.ts';
import type { DocumentImages } from '../recognition/document-images.ts';
import { type ExtractCategory, ExtractError } from './extract/errors.ts';
import type { ImageReading } from './extract/image-texts.ts';

/** Error categories of failures of a single picture. Any other error affects all pictures. */
const CATEGORY_BY_CODE: Readonly<Record<string, ExtractCategory>> = {
  image_unreadable: 'corrupt',
  image_too_slow: 'too_large',
  upstream_rejected: 'upstream_rejected',
};

/**
 * Create the picture recognition for a document uploaded with `strategy`. Return null if pictures aren't read.
 * @param onRead called after each picture
 */
export function pictureReading(
  images: DocumentImages,
  strategy: IngestOptions['ocr_strategy'],
  onRead: () => void = () => {},
): ImageReading | null {
  if (strategy === 'never') return null;
  return {
    strategy,
    async read(file, signal) {
      try {
        return await images.read(file, signal);
      } catch (error) {
        const category = error instanceof AppError ? CATEGORY_BY_CODE[error.code] : undefined;
        if (error instanceof AppError && category !== undefined) {
          const message = category === 'upstream_rejected' ? error.message : `the picture ${error.message}`;
          throw new ExtractError(category, message, error);
        }
        throw asJobError(error, jobErrorCategoryOf(error));
      } finally {
        onRead();
      }
    },
  };
}
