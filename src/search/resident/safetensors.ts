/**
 * Files of named columns of numbers in the format of safetensors (https://github.com/huggingface/safetensors#format): the
 * length of a header, the header in JSON, and the columns one after the other.
 */
const METADATA = '__metadata__';
/** Columns begin at a multiple of this, so that numbers of eight bytes can be read in place. */
const ALIGNMENT = 8;

export type Column = BigInt64Array | Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array;
const DTYPES = {
  ...{ I64: BigInt64Array, F64: Float64Array },
  ...{ F32: Float32Array, I32: Int32Array, U32: Uint32Array },
  U8: Uint8Array,
};
export type Dtype = keyof typeof DTYPES;

interface Entry {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [start: number, end: number];
}

/** Columns of a file. */
export interface DecodedColumns {
  readonly metadata: Readonly<Record<string, string>>;
  /** Return a column as a view on the bytes of the file. @throws Error if the file has none of this name and type */
  column(name: string, dtype: Dtype): Column;
}

/** Return the parts of a file, in their order. */
export function encodeColumns(
  metadata: Readonly<Record<string, string>>,
  columns: readonly (readonly [name: string, values: Column])[],
): Uint8Array[] {
  // The widest first: then each begins at a multiple of its width.
  const ordered = columns.toSorted(([, a], [, b]) => b.BYTES_PER_ELEMENT - a.BYTES_PER_ELEMENT);
  const header: Record<string, unknown> = { [METADATA]: metadata };
  let end = 0;
  for (const [name, values] of ordered) {
    const start = end;
    end += values.byteLength;
    header[name] = { dtype: dtypeOf(values), shape: [values.length], data_offsets: [start, end] } satisfies Entry;
  }
  const json = Buffer.from(JSON.stringify(header));
  const padded = Buffer.alloc(Math.ceil(json.length / ALIGNMENT) * ALIGNMENT, ' ');
  json.copy(padded);
  const length = Buffer.alloc(ALIGNMENT);
  length.writeBigUInt64LE(BigInt(padded.length));
  return [
    length,
    padded,
    ...ordered.map(([, { buffer, byteOffset, byteLength }]) => Buffer.from(buffer, byteOffset, byteLength)),
  ];
}

/** @param bytes of a file; they begin at a multiple of 8 @throws Error if they are damaged */
export function decodeColumns(bytes: Uint8Array): DecodedColumns {
  const { header, data } = openHeader(bytes);
  return {
    metadata: header[METADATA] as unknown as Record<string, string>,
    column(name, dtype) {
      const entry = header[name];
      if (entry?.dtype !== dtype) throw new Error(`it has no column ${name}`);
      const [start, end] = entry.data_offsets;
      if (end > data.length) throw new Error('it is too short');
      const { BYTES_PER_ELEMENT } = DTYPES[dtype];
      return new DTYPES[dtype](data.buffer as ArrayBuffer, data.byteOffset + start, (end - start) / BYTES_PER_ELEMENT);
    },
  };
}

function openHeader(bytes: Uint8Array): { header: Record<string, Entry>; data: Uint8Array } {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = view.length < ALIGNMENT ? 0 : Number(view.readBigUInt64LE());
  if (length === 0 || length > view.length - ALIGNMENT) throw new Error('it is too short');
  const start = ALIGNMENT + length;
  return { header: JSON.parse(view.toString('utf8', ALIGNMENT, start)), data: bytes.subarray(start) };
}

function dtypeOf(values: Column): Dtype {
  const found = Object.entries(DTYPES).find(([, type]) => values instanceof type);
  return (found as [Dtype, unknown])[0];
}
