import { isTiff, tiffPages } from '../../recognition/tiff-pages.ts';
import { ExtractError } from './errors.ts';
import type { DocumentImage, ImageTexts } from './image-texts.ts';
import { collectBytes, ofSize } from './read-in-worker.ts';

/** Yield the pages of a TIFF file, from 1. Any other picture is a single page. */
export function* pagesOfPicture(file: Uint8Array<ArrayBuffer>, pagesMax: number): Generator<DocumentImage> {
  let page = 1;
  if (!isTiff(file)) yield { file, page };
  else for (const { bytes } of tiffPages(file, pagesMax)) yield { file: bytes, page: page++ };
}

/**
 * Read the text of a picture file. A TIFF file may have several pages. Don't decode any of it in this process.
 * @throws ExtractError if no page is readable, with the category of the first error; errors of the source
 */
export async function readPicture(
  picture: { source: AsyncIterable<Uint8Array>; sizeBytes: number; pagesMax: number },
  texts: ImageTexts,
): Promise<{ pages: number; emptyPages: number[] }> {
  const { sizeBytes, pagesMax } = picture;
  const file = await collectBytes(ofSize(picture.source, sizeBytes), sizeBytes);
  let count = 0;
  for (const image of pagesOfPicture(file, pagesMax)) {
    await texts.addImage(image);
    count++;
  }
  await texts.finish();
  if (count === 0) throw new ExtractError('corrupt', 'no page can be found in the picture file');
  texts.requireOne(count);
  const emptyPages = Array.from({ length: count }, (_, index) => index + 1);
  return { pages: count, emptyPages };
}
