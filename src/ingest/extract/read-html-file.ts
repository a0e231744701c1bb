import { PackagePictures } from './office/package-pictures.ts';
import { readHtmlPage } from './read-html.ts';
import { type Reading, type ReadResult, resultOf } from './reader.ts';

/** Pictures that are written into the page (RFC 2397). Others are elsewhere, and nothing is fetched. */
const INLINE = /^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,/i;

/** Read an HTML file. Pictures inside a page without text are recognised. */
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
    const [start] = INLINE.exec(address) ?? [];
    if (start === undefined) continue;
    await inline.take(`picture ${++number}`, {}, async () => Buffer.from(address.slice(start.length), 'base64'));
  }
  return resultOf('html', { skipped: inline.skipped });
}
