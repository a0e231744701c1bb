import { yieldToEventLoop } from '../platform/event-loop.ts';
import { notFinite } from './float-printer.ts';
import { JsonWriter } from './json-writer.ts';

/** Length of the longest text around one row of a list: brackets, names and a large index. */
const ROW_TEXT_BYTES_MAX = 64;
const ENVELOPE_TEXT_BYTES_TYPICAL = 512;
/** Floats to print between yields to the event loop: about 1 ms of work. */
export const FLOATS_PER_SLICE = 40_000;

/** Vectors as floats, or as the bytes of `convertVectors`. */
type Rows = Float32Array | Int8Array | Uint8Array;

/**
 * Render the response body of `POST /v1/embeddings`, an OpenAI-style list:
 * `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[…]},…],"model":"…","usage":{…}}`.
 *
 * Every float is printed as the shortest decimal that reads back to the same float32. With `base64`, `embedding` is
 * a string instead: the row's bytes in base64, for floats those of little-endian float32, as OpenAI's
 * `encoding_format: "base64"`.
 *
 * @param vectors floats or bytes [n x d], row-major, finite
 * @param d columns, >= 1
 * @param tail.zeros number of zeros to append to each row of floats
 * @throws AppError `embedding_not_finite` (502)
 */
export async function renderEmbeddingList(
  vectors: Rows,
  d: number,
  tail: { model: string; promptTokens: number; base64?: boolean | undefined; zeros?: number },
): Promise<Buffer> {
  const zeros = ',0'.repeat(tail.zeros ?? 0);
  const writer = openWriter(vectors, d, zeros.length);
  writer.text('{"object":"list","data":[');
  if (tail.base64) writeBase64Items(writer, vectors, d);
  else if (!(vectors instanceof Float32Array)) {
    writeTextItems(writer, vectors, d, (from) => `[${vectors.subarray(from, from + d).join(',')}]`);
  } else {
    await printInSlices(vectors, d, (rows, firstIndex) => {
      if (firstIndex > 0) writer.text(',');
      writeEmbeddingItems(writer, rows, d, { firstIndex, zeros });
    });
  }
  const model = JSON.stringify(tail.model);
  const tokens = JSON.stringify(tail.promptTokens);
  writer.text(`],"model":${model},"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`);
  return writer.finish();
}

/** Print the rows in slices of about one millisecond, and yield to the event loop before each. */
async function printInSlices(
  vectors: Float32Array,
  d: number,
  print: (rows: Float32Array, firstIndex: number) => void,
): Promise<void> {
  if (vectors.length <= FLOATS_PER_SLICE) return print(vectors, 0);
  const rowsPerSlice = Math.max(1, Math.floor(FLOATS_PER_SLICE / d));
  for (let row = 0; row * d < vectors.length; row += rowsPerSlice) {
    await yieldToEventLoop();
    print(vectors.subarray(row * d, Math.min(vectors.length, (row + rowsPerSlice) * d)), row);
  }
}

/**
 * Render `{"embeddings":[[0.1,…],…],"model":"…","dimensions":…,"usage":{…}}`, the response body of the batch and image
 * endpoints.
 *
 * @param vectors Float32Array [n x d], row-major, finite
 * @param zeros number of zeros to append to each row
 * @throws AppError `embedding_not_finite` (502)
 */
export async function renderVectorRows(
  vectors: Float32Array,
  d: number,
  { zeros, ...tail }: { model: string; usage: Readonly<Record<string, number>>; zeros: number },
): Promise<Buffer> {
  const padding = ',0'.repeat(zeros);
  const writer = openWriter(vectors, d, padding.length);
  writer.text('{"embeddings":[');
  await printInSlices(vectors, d, (rows, firstIndex) => {
    for (let from = 0; from < rows.length; from += d) {
      writer.text(from === 0 && firstIndex === 0 ? '[' : ',[');
      writer.floats(rows, from, from + d);
      writer.text(`${padding}]`);
    }
  });
  writer.text(`],${JSON.stringify({ model: tail.model, dimensions: d + zeros, usage: tail.usage }).slice(1)}`);
  return writer.finish();
}

/**
 * Append `{"object":"embedding","index":i,"embedding":[…]},…` for every row, without brackets around the items.
 *
 * @param vectors Float32Array [n x d], row-major, finite
 * @param options.firstIndex `index` of the first row, for a page of a longer list
 * @param options.zeros text to append to the floats of each row
 * @throws AppError `embedding_not_finite` (502)
 */
export function writeEmbeddingItems(
  writer: JsonWriter,
  vectors: Float32Array,
  d: number,
  { firstIndex = 0, zeros = '' }: { readonly firstIndex?: number; readonly zeros?: string } = {},
): void {
  countRows(vectors, d);
  for (let from = 0, index = firstIndex; from < vectors.length; from += d, index++) {
    writer.text(`${from === 0 ? '' : `${zeros}]},`}{"object":"embedding","index":${index},"embedding":[`);
    writer.floats(vectors, from, from + d);
  }
  if (vectors.length > 0) writer.text(`${zeros}]}`);
}

function writeBase64Items(writer: JsonWriter, vectors: Rows, d: number): void {
  const bad = vectors.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw notFinite(bad);
  const bytes = Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength);
  const size = vectors.BYTES_PER_ELEMENT;
  writeTextItems(writer, vectors, d, (from) => `"${bytes.toString('base64', from * size, (from + d) * size)}"`);
}

/** @param print returns the JSON of the row that starts at an offset */
function writeTextItems(writer: JsonWriter, vectors: Rows, d: number, print: (from: number) => string): void {
  for (let from = 0, index = 0; from < vectors.length; from += d, index++) {
    writer.text(`${from === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${print(from)}}`);
  }
}

function openWriter(vectors: Rows, d: number, rowTextBytes = 0): JsonWriter {
  const textBytes = countRows(vectors, d) * (ROW_TEXT_BYTES_MAX + rowTextBytes) + ENVELOPE_TEXT_BYTES_TYPICAL;
  return new JsonWriter({ floats: vectors.length, textBytes });
}

/** @throws RangeError if there isn't a whole number of rows, which is a bug of the caller */
function countRows(vectors: Rows, d: number): number {
  const rows = vectors.length / d;
  if (d >= 1 && Number.isInteger(d) && Number.isInteger(rows)) return rows;
  throw new RangeError(`${vectors.length} numbers are not rows of ${d}`);
}
