import { byteOrderMark, decodeText } from '../decode-text.ts';

const PIECE_BYTES = 64 * 1024;
/** How much is looked at to tell the encoding. */
const SAMPLE_BYTES = 256 * 1024;

/**
 * Text of a file as it comes, in windows of 64 Ki characters or so, in any encoding. The encoding is told from the
 * first bytes beyond ASCII, as `decodeText` tells it, however late they come; nothing else of the file is held.
 *
 * @param declared a charset label from elsewhere; unknown labels are ignored
 */
export async function* decodeWindows(
  source: AsyncIterable<Uint8Array>,
  declared: string | null,
): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  let sample: Uint8Array[] = [];
  let sampled = 0;
  for await (const piece of piecesOf(source)) {
    if (decoder !== null) {
      yield decoder.decode(piece, { stream: true });
      continue;
    }
    // A file that began in ASCII is the same in every encoding that goes on so.
    if (sampled === 0 && isAscii(piece)) {
      yield Buffer.from(piece).toString('latin1');
      continue;
    }
    sample.push(piece);
    sampled += piece.length;
    if (sampled < SAMPLE_BYTES) continue;
    decoder = decoderFor(wholeLines(Buffer.concat(sample)), declared);
    for (const held of sample) yield decoder.decode(held, { stream: true });
    sample = [];
  }
  decoder ??= decoderFor(Buffer.concat(sample), declared);
  for (const held of sample) yield decoder.decode(held, { stream: true });
  yield decoder.decode();
}

async function* piecesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
  }
}

function decoderFor(sample: Buffer, declared: string | null): InstanceType<typeof TextDecoder> {
  const marked = byteOrderMark(sample);
  return new TextDecoder(marked ?? decodeText(sample, declared).encoding);
}

/** A sample may end inside a character, which would count as a fault; no line ends so. */
function wholeLines(sample: Buffer): Buffer {
  const newline = sample.lastIndexOf(0x0a);
  return newline < 0 ? sample : sample.subarray(0, newline + 1);
}

/** Without NULs, which UTF-16 is known by, and the escape character that begins the Japanese of ISO-2022-JP. */
function isAscii(piece: Uint8Array): boolean {
  for (let i = 0; i < piece.length; i++) {
    const byte = piece[i] as number;
    if (byte === 0 || byte === 0x1b || byte >= 0x80) return false;
  }
  return true;
}
