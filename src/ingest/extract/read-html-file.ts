import { inlinePicture } from './inline-pictures.ts';
import { PackagePictures } from './office/package-pictures.ts';
import { readHtmlPage } from './read-html.ts';
import { type Reading, type ReadResult, resultOf } from './reader.ts';

/** Read an HTML file. Recognise embedded pictures of a page without text. All others are elsewhere; fetch nothing. */
export async function readHtmlFile(
  bytes: Uint8Array,
  { sink, images }: Reading,
  charset: string | null,
): Promise<ReadResult> {
  const { blocks, pictures } = readHtmlPage(bytes, charset);
  for (const block of blocks) sink.add(block);
  const inline = new PackagePictures(images);
  const hasText = blocks.some(({ text }) => text.trim() !== '');
  let number = 0;
  for (const address of inline.wants(hasText) ? pictures : []) {
    const picture = inlinePicture(address);
    if (picture !== null) await inline.take(`picture ${++number}`, {}, async () => picture);
  }
  return resultOf('html', { skipped: inline.skipped });
}
