import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { AppError, invalidRequest } from '../platform/errors.ts';
import { JsonWriter } from '../printing/json-writer.ts';

const ITEM_TEXT_BYTES = 64;
const NPY_ALIGNMENT = 64;

/** Return the format that the file name implies. @throws AppError `invalid_request` (400) for another extension */
export function formatOf(file: string): 'npy' | 'jsonl' {
  const extension = path.extname(file).toLowerCase();
  if (extension === '.npy' || extension === '.jsonl') return extension === '.npy' ? 'npy' : 'jsonl';
  throw invalidRequest(`--out: must end in .npy or .jsonl: ${file}`, 'out');
}

/** Shape of the float32 matrix that follows as bytes: [count x dimensions]. */
interface VectorsShape {
  readonly count: number;
  readonly dimensions: number;
}

/**
 * Write all vectors of a job: as a float32 array [n x d] for NumPy, or as one `{"index", "embedding"}` per line. The
 * file appears only when it is complete.
 * @param body vectors, row-major
 * @throws AppError `file_unwritable` (403), and the error of the body
 */
export async function writeVectors(
  { count, dimensions }: VectorsShape,
  body: Readable,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const format = formatOf(file);
  const part = `${file}.part-${process.pid}`;
  const handle = await open(part, 'wx').catch((error) => {
    body.destroy();
    throw unwritable(file, error);
  });
  try {
    if (format === 'npy') await writeAll(handle, npyHeader(count, dimensions));
    let index = 0;
    for await (const vectors of wholeVectors(body, dimensions)) {
      signal.throwIfAborted();
      const bytes = Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength);
      await writeAll(handle, format === 'npy' ? bytes : renderLines(vectors, dimensions, index));
      index += vectors.length / dimensions;
    }
    await handle.close();
    await rename(part, file);
  } catch (error) {
    await handle.close();
    await rm(part, { force: true });
    throw (error as NodeJS.ErrnoException).syscall === undefined ? error : unwritable(file, error);
  }
}

/** Regroup the bytes of a stream into arrays of whole vectors. */
async function* wholeVectors(body: Readable, dimensions: number): AsyncGenerator<Float32Array> {
  const vectorBytes = dimensions * Float32Array.BYTES_PER_ELEMENT;
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of body as AsyncIterable<Buffer>) {
    const all = rest.length === 0 ? part : Buffer.concat([rest, part]);
    const whole = all.length - (all.length % vectorBytes);
    rest = all.subarray(whole);
    // A float array needs an aligned buffer.
    if (whole > 0) yield new Float32Array(Uint8Array.from(all.subarray(0, whole)).buffer);
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
}

function renderLines(vectors: Float32Array, dimensions: number, first: number): Buffer {
  const rows = vectors.length / dimensions;
  const writer = new JsonWriter({ floats: vectors.length, textBytes: rows * ITEM_TEXT_BYTES });
  for (let row = 0; row < rows; row++) {
    writer.text(`{"index":${first + row},"embedding":[`);
    writer.floats(vectors, row * dimensions, (row + 1) * dimensions);
    writer.text(']}\n');
  }
  return writer.finish();
}

/** Render the header of format 1.0 (NumPy Enhancement Proposal 1): magic, length, a padded Python dict. */

function npyHeader(rows: number, dimensions: number): Buffer {
  const dict = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${dimensions}), }`;
  const bare = 10 + dict.length + 1;
  const padded = `${dict}${' '.repeat(Math.ceil(bare / NPY_ALIGNMENT) * NPY_ALIGNMENT - bare)}\n`;
  const head = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 0, 0]);
  head.writeUInt16LE(padded.length, 8);
  return Buffer.concat([head, Buffer.from(padded, 'latin1')]);
}

function unwritable(file: string, error: unknown): AppError {
  const { code } = error as NodeJS.ErrnoException;
  return new AppError({
    code: 'file_unwritable',
    status: 403,
    message: `cannot write ${file} (${code})`,
    cause: error,
  });
}
