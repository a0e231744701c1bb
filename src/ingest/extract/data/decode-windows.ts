import { byteOrderMark, decodeText, withoutFalseMark } from '../decode-text.ts';
import type { Decoder } from '../encoding/decoder.ts';
import { openDecoder } from '../encoding/open-decoder.ts';

const SLICE_BYTES = 64 * 1024;
/** Size of the sample for detecting the encoding. */
const SAMPLE_BYTES = 256 * 1024;

/**
 * Decode a file of any encoding to windows of about 64 Ki characters, holding only the current one. `decodeText`
 * detects the encoding from the first non-ASCII bytes, however late they occur.
 * @param declared charset label from elsewhere; ignored if unknown
 */
export async function* decodeWindows(
  source: AsyncIterable<Uint8Array>,
  declared: string | null,
): AsyncGenerator<string> {
  let decoder: Decoder | null = null;
  let sample: Uint8Array[] = [];
  let sampled = 0;
  for await (const slice of slicesOf(source)) {
    if (decoder !== null) {
      yield decoder.decode(slice, { stream: true });
      continue;
    }
    // Every encoding that extends ASCII decodes an ASCII prefix in the same way.
    if (sampled === 0 && isAscii(slice)) {
      yield Buffer.from(slice).toString('latin1');
      continue;
    }
    sample.push(slice);
    sampled += slice.length;
    if (sampled < SAMPLE_BYTES) continue;
    const start = withoutFalseMark(Buffer.concat(sample));
    decoder = decoderFor(wholeLines(start), declared);
    yield* decoded(start, decoder);
    sample = [];
  }
  const rest = withoutFalseMark(Buffer.concat(sample));
  decoder ??= decoderFor(rest, declared);
  yield* decoded(rest, decoder);
  yield decoder.decode();
}

function* decoded(bytes: Uint8Array, decoder: Decoder): Generator<string> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES)
    yield decoder.decode(bytes.subarray(at, at + SLICE_BYTES), { stream: true });
}

async function* slicesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) yield chunk.subarray(at, at + SLICE_BYTES);
  }
}

function decoderFor(sample: Uint8Array, declared: string | null): Decoder {
  const encoding = byteOrderMark(sample) ?? decodeText(sample, declared).encoding;
  return openDecoder(encoding) ?? new TextDecoder();
}

/** Cut a sample at its last line end, since a sample that ends within a character would count as invalid. */
function wholeLines(sample: Uint8Array): Uint8Array {
  const newline = sample.lastIndexOf(0x0a);
  return newline < 0 ? sample : sample.subarray(0, newline + 1);
}

/** Return true for ASCII without NULs, which indicate UTF-16, and without the escape character of ISO-2022-JP. */
function isAscii(slice: Uint8Array): boolean {
  for (let i = 0; i < slice.length; i++) {
    const byte = slice[i] as number;
    if (byte === 0 || byte === 0x1b || byte >= 0x80) return false;
  }
  return true;
}
