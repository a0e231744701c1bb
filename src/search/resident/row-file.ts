/**
 * File of the rows of a table, in the format of safetensors (https://github.com/huggingface/safetensors#format): the
 * length of a header, the header in JSON, and the columns one after the other.
 */
import type { KeywordColumns } from './keyword-rows.ts';
import type { RowBatch, Utf8Column } from './protocol.ts';

/**
 * Changed with the columns and with what is in them, such as the hash of terms: a file of another format is not read. The
 * test of a file's checksum fails where it was forgotten.
 */
const FORMAT = 'rows 3';
const METADATA = '__metadata__';
const TEXTS = ['chunkIds', 'documentIds', 'texts', 'locators'] as const;
const KEYWORDS = {
  slots: 'I32',
  termBytes: 'U8',
  termStarts: 'U32',
  numbers: 'U32',
  firstBlocks: 'U32',
  nextPostings: 'U32',
  counts: 'U32',
  left: 'U32',
  largeKeys: 'F64',
  largeCounts: 'U32',
  lengths: 'U32',
} as const satisfies Record<keyof KeywordColumns, Dtype>;
/** Columns begin at a multiple of this, so that numbers of eight bytes can be read in place. */
const ALIGNMENT = 8;

/** Rows of one version of a table. */
export interface TableRows {
  readonly version: number;
  /** Largest address of a row; -1 without rows. */
  readonly lastRowId: bigint;
  /** Their tokens are not written. */
  readonly batches: readonly RowBatch[];
  /** Inverted index of the tokens of all rows. */
  readonly keywords: KeywordColumns;
}

type Column = BigInt64Array | Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array;
const DTYPES = {
  ...{ I64: BigInt64Array, F64: Float64Array },
  ...{ F32: Float32Array, I32: Int32Array, U32: Uint32Array },
  U8: Uint8Array,
};
type Dtype = keyof typeof DTYPES;

interface Entry {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [start: number, end: number];
}

/** Return the parts of a file, in their order. */
export function encodeRows({ version, lastRowId, batches, keywords }: TableRows): Uint8Array[] {
  const columns = [
    ...batches.flatMap((batch, nth) => columnsOf(batch).map(([name, values]) => [`${nth}.${name}`, values] as const)),
    ...Object.entries(keywords).map(([name, values]) => [`keywords.${name}`, values as Column] as const),
  ];
  // The widest first: then each begins at a multiple of its width.
  const ordered = columns.sort(([, a], [, b]) => b.BYTES_PER_ELEMENT - a.BYTES_PER_ELEMENT);
  const header: Record<string, unknown> = {
    [METADATA]: { format: FORMAT, version: `${version}`, last_row_id: `${lastRowId}`, batches: `${batches.length}` },
  };
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

/**
 * Return the rows of a file as views on its bytes, which begin at a multiple of 8. Null: its format is another one, as that
 * of a file which another release has written.
 *
 * @throws Error if it is damaged
 */
export function decodeRows(bytes: Uint8Array): TableRows | null {
  const { header, data } = openHeader(bytes);
  const { format, version, last_row_id: lastRowId, batches } = header[METADATA] as unknown as Record<string, string>;
  if (format !== FORMAT) return null;
  const column = (name: string, dtype: Dtype) => {
    const entry = header[name];
    if (entry?.dtype !== dtype) throw new Error(`it has no column ${name}`);
    const [start, end] = entry.data_offsets;
    if (end > data.length) throw new Error('it is too short');
    const { BYTES_PER_ELEMENT } = DTYPES[dtype];
    return new DTYPES[dtype](data.buffer as ArrayBuffer, data.byteOffset + start, (end - start) / BYTES_PER_ELEMENT);
  };
  const batchOf = (nth: number): RowBatch => {
    const generations = column(`${nth}.generations`, 'I64') as BigInt64Array;
    const text = (name: string): Utf8Column => ({
      offsets: column(`${nth}.${name}.offsets`, 'I32') as Int32Array,
      bytes: column(`${nth}.${name}.bytes`, 'U8') as Uint8Array,
    });
    const count = generations.length;
    return {
      ...{ count, generations },
      tokens: { offsets: new Int32Array(count + 1), bytes: new Uint8Array(0) },
      chunkIndexes: column(`${nth}.chunkIndexes`, 'I32') as Int32Array,
      vectors: column(`${nth}.vectors`, 'F32') as Float32Array,
      ...(Object.fromEntries(TEXTS.map((name) => [name, text(name)])) as Record<(typeof TEXTS)[number], Utf8Column>),
    };
  };
  const rows: TableRows = {
    version: toCount(version),
    lastRowId: BigInt(lastRowId as string),
    batches: Array.from({ length: toCount(batches) }, (_, nth) => batchOf(nth)),
    keywords: Object.fromEntries(
      Object.entries(KEYWORDS).map(([name, dtype]) => [name, column(`keywords.${name}`, dtype)]),
    ) as unknown as KeywordColumns,
  };
  if (rows.keywords.lengths.length !== rows.batches.reduce((sum, { count }) => sum + count, 0))
    throw new Error('its index is of other rows');
  return rows;
}

function toCount(text: string | undefined): number {
  if (!/^\d+$/.test(text ?? '')) throw new Error('it has no version or number of batches');
  return Number(text);
}

function openHeader(bytes: Uint8Array): { header: Record<string, Entry>; data: Uint8Array } {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = view.length < ALIGNMENT ? 0 : Number(view.readBigUInt64LE());
  if (length === 0 || length > view.length - ALIGNMENT) throw new Error('it is too short');
  const start = ALIGNMENT + length;
  return { header: JSON.parse(view.toString('utf8', ALIGNMENT, start)), data: bytes.subarray(start) };
}

function columnsOf(batch: RowBatch): [string, Column][] {
  const texts = TEXTS.flatMap((name): [string, Column][] => {
    const { offsets, bytes } = batch[name];
    const first = offsets[0] ?? 0;
    return [
      [`${name}.offsets`, offsets.map((offset) => offset - first)],
      [`${name}.bytes`, bytes.subarray(first, offsets.at(-1) ?? first)],
    ];
  });
  const { generations, chunkIndexes, vectors } = batch;
  return [['generations', generations], ['chunkIndexes', chunkIndexes], ['vectors', vectors], ...texts];
}

function dtypeOf(values: Column): Dtype {
  const found = Object.entries(DTYPES).find(([, type]) => values instanceof type);
  return (found as [Dtype, unknown])[0];
}
