import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { fromHalves } from '../../ingest/half-floats.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { chooseColumns, rowOf } from './choose-columns.ts';
import { jsonLines } from './json-rows.ts';
import type { OldIndex, OldIndexOptions, OldRow } from './old-row.ts';

// The .npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

const MAGIC = '\x93NUMPY';
const HEADER_BYTES_MAX = 64 * 1024;
/** Bytes of rows to read at a time. */
const SLICE_BYTES = 1024 * 1024;

const READERS = {
  '<f2': { bytes: 2, floats: (bytes: ArrayBuffer) => fromHalves(new Uint16Array(bytes)) },
  '<f4': { bytes: 4, floats: (bytes: ArrayBuffer) => new Float32Array(bytes) },
  '<f8': { bytes: 8, floats: (bytes: ArrayBuffer) => Float32Array.from(new Float64Array(bytes)) },
} as const;

interface Header {
  readonly type: keyof typeof READERS;
  readonly rows: number;
  readonly dimension: number;
  readonly dataStart: number;
}

/**
 * Open a NumPy matrix with one vector per row. Ids, texts and metadata come from a file of JSON lines in the same
 * order. Without it, a row's id is the file name and row number.
 */
export async function openNumpy(file: string, options: OldIndexOptions): Promise<OldIndex> {
  const header = await withFile(file, (handle) => readHeader(handle, file));
  const { rows, dimension } = header;
  const described = options.rows === undefined ? 'row numbers as ids' : `rows from ${options.rows}`;
  return {
    found: `NumPy, ${rows} x ${dimension}: ${described}`,
    total: rows,
    rows: () => readRows(file, header, options),
  };
}

async function withFile<T>(file: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(file, 'r');
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

async function readHeader(handle: FileHandle, file: string): Promise<Header> {
  const { size } = await handle.stat();
  const start = await read(handle, 0, 12);
  if (start.toString('latin1', 0, 6) !== MAGIC) throw refused(file, 'is not a NumPy file');
  const isFirst = start[6] === 1;
  const length = isFirst ? start.readUInt16LE(8) : start.readUInt32LE(8);
  const headerStart = isFirst ? 10 : 12;
  if (length > HEADER_BYTES_MAX) throw refused(file, 'has no readable header');
  const text = (await read(handle, headerStart, length)).toString('latin1');
  const type = /'descr':\s*'([^']*)'/.exec(text)?.[1] ?? '';
  const [rows, dimension, ...more] = (/'shape':\s*\(([^)]*)\)/.exec(text)?.[1] ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(Number);
  if (!(type in READERS))
    throw refused(file, `has the type ${type || 'unknown'}; save it as float32, float16 or float64`);
  if (rows === undefined || dimension === undefined || more.length > 0 || dimension === 0) {
    throw refused(file, 'is not a matrix with one vector per row');
  }
  if (/'fortran_order':\s*True/.test(text))
    throw refused(file, 'is stored in column order; save numpy.ascontiguousarray(…)');
  const dataStart = headerStart + length;
  const header: Header = { type: type as Header['type'], rows, dimension, dataStart };
  if (size - dataStart !== rows * dimension * READERS[header.type].bytes) throw refused(file, 'is cut off');
  return header;
}

async function read(handle: FileHandle, position: number, length: number): Promise<Buffer<ArrayBuffer>> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

async function* readRows(file: string, header: Header, options: OldIndexOptions): AsyncGenerator<OldRow> {
  const facts = options.rows === undefined ? null : jsonLines(options.rows);
  const handle = await open(file, 'r');
  try {
    let number = 0;
    for await (const vector of vectorsOf(handle, header)) {
      number++;
      const place = `row ${number}`;
      if (facts === null) {
        yield { id: `${path.basename(file)}#${number}`, vector, text: null, metadata: {}, place };
        continue;
      }
      const next = await facts.next();
      if (next.done) throw invalidRequest(`${options.rows} has ${number - 1} lines for ${header.rows} vectors`, 'rows');
      const value: Record<string, unknown> = { ...next.value.value, vector };
      const columns = chooseColumns(Object.keys(value), { ...options, vectorColumn: 'vector' });
      yield rowOf(columns, (column) => value[column], {
        file: options.rows as string,
        place: `line ${next.value.line}`,
      });
    }
    if (facts !== null && !(await facts.next()).done) {
      throw invalidRequest(`${options.rows} has more lines than the ${header.rows} vectors`, 'rows');
    }
  } finally {
    await facts?.return(undefined);
    await handle.close();
  }
}

async function* vectorsOf(
  handle: FileHandle,
  { type, rows, dimension, dataStart }: Header,
): AsyncGenerator<Float32Array> {
  const { bytes, floats } = READERS[type];
  const rowBytes = dimension * bytes;
  const atOnce = Math.max(1, Math.floor(SLICE_BYTES / rowBytes));
  for (let from = 0; from < rows; from += atOnce) {
    const count = Math.min(atOnce, rows - from);
    const slice = await read(handle, dataStart + from * rowBytes, count * rowBytes);
    const values = floats(Uint8Array.from(slice).buffer);
    for (let at = 0; at < count; at++) yield values.slice(at * dimension, (at + 1) * dimension);
  }
}

function refused(file: string, fault: string) {
  return invalidRequest(`${file} ${fault}`, 'vectors');
}
