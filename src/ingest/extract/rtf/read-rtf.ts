import { BlockWriter } from '../block-writer.ts';
import { PackagePictures, PICTURE_BYTES_MAX } from '../office/package-pictures.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { RtfBody } from './rtf-body.ts';
import { rtfTokens } from './rtf-tokens.ts';

/** Tokens to process between waits for the sink. */
const TOKENS_BETWEEN_FLUSHES = 10_000;

/**
 * Read the text of a Rich Text Format file (specification 1.9.1): headings by outline level or style, list items,
 * tables, footnotes and endnotes. Omit hidden text, comments, headers and footers, and embedded objects. Recognise the
 * pictures of a document without text.
 */
export async function readRtf(bytes: Uint8Array, { sink, images }: Reading): Promise<ReadResult> {
  let hasText = false;
  const writer = new BlockWriter((block) => {
    hasText ||= block.text.trim() !== '';
    sink.add(block);
  });
  const body = new RtfBody(writer);
  let count = 0;
  for (const token of rtfTokens(bytes)) {
    if (!body.take(token)) break;
    if (++count % TOKENS_BETWEEN_FLUSHES === 0) await sink.flush();
  }
  body.end();
  writer.end();
  const pictures = new PackagePictures(images);
  let number = 0;
  for (const picture of pictures.wants(hasText) ? rtfPictures(bytes) : [])
    await pictures.take(`picture ${++number}`, {}, async () => picture);
  return resultOf('rtf', { skipped: pictures.skipped });
}

/** Start of a PNG or JPEG picture: its control word, and others up to the digits or bytes. */
const PICTURE = /\\(?:pngblip|jpegblip)(?![a-z])(?:\s|\\(?!bin\d)[a-z]+-?\d*|\{\\\*[^{}]*\})*/g;
const HEX = /[0-9a-fA-F\s]*/y;
const BINARY = /\\bin(\d{1,10}) ?/y;

/** Yield a document's pictures, from hexadecimal digits or bytes (specification 1.9.1, "Pictures"). */
function* rtfPictures(bytes: Uint8Array): Generator<Uint8Array> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  for (const found of text.matchAll(PICTURE)) {
    HEX.lastIndex = found.index + found[0].length;
    BINARY.lastIndex = HEX.lastIndex;
    const binary = BINARY.exec(text);
    if (binary !== null) {
      const start = binary.index + binary[0].length;
      yield bytes.slice(start, start + Math.min(Number(binary[1]), PICTURE_BYTES_MAX));
      continue;
    }
    const digits = (HEX.exec(text)?.[0] ?? '').slice(0, PICTURE_BYTES_MAX * 3);
    yield Buffer.from(digits.replace(/\s+/g, ''), 'hex');
  }
}
