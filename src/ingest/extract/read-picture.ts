import { tiffPages } from '../../embedding/images/tiff-pages.ts';
import type { PictureFormat } from './detect-format.ts';
import { ExtractError } from './errors.ts';
import type { ImageTexts } from './image-texts.ts';
import { collectBytes, ofSize } from './read-in-worker.ts';

/**
 * Text of a file that is a picture as a whole, or, as TIFF, one of several pages. Nothing of it is decoded here.
 *
 * @throws ExtractError where none of its pages can be read, with the category of the first; errors of the source
 */
export async function readPicture(
  picture: { format: PictureFormat; source: AsyncIterable<Uint8Array>; sizeBytes: number; pagesMax: number },
  texts: ImageTexts,
): Promise<{ pages: number; emptyPages: number[] }> {
  const { format, sizeBytes, pagesMax } = picture;
  const file = await collectBytes(ofSize(picture.source, sizeBytes), sizeBytes);
  const files = format === 'tiff' ? tiffPages(file, pagesMax) : [{ bytes: file }];
  let count = 0;
  for (const { bytes } of files) await texts.addImage({ file: bytes, page: ++count });
  await texts.finish();
  if (count === 0) throw new ExtractError('corrupt', 'the file has no page that can be found');
  texts.requireOne(count);
  const emptyPages = Array.from({ length: count }, (_, index) => index + 1);
  return { pages: count, emptyPages };
}
