import { isTiff, tiffPages } from '../../recognition/tiff-pages.ts';
import { ExtractError } from './errors.ts';
import type { DocumentImage, ImageTexts } from './image-texts.ts';
import { collectBytes, ofSize } from './read-in-worker.ts';

/** The pages of a TIFF file, or the one that any other picture is, from 1. */
export function* pagesOfPicture(file: Uint8Array<ArrayBuffer>, pagesMax: number): Generator<DocumentImage> {
  let page = 1;
  if (!isTiff(file)) yield { file, page };
  else for (const { bytes } of tiffPages(file, pagesMax)) yield { file: bytes, page: page++ };
}

/**
 * Text of a file that is a picture as a whole, or, as TIFF, one of several pages. Nothing of it is decoded here.
 *
 * @throws ExtractError where none of its pages can be read, with the category of the first; errors of the source
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
  if (count === 0) throw new ExtractError('corrupt', 'the file has no page that can be found');
  texts.requireOne(count);
  const emptyPages = Array.from({ length: count }, (_, index) => index + 1);
  return { pages: count, emptyPages };
}
