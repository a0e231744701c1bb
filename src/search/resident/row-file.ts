import type { KeywordColumns } from './keyword-rows.ts';
import type { RowBatch, RowSelection, Utf8Column } from './protocol.ts';
import { type Column, type DecodedColumns, type Dtype, decodeColumns, encodeColumns } from './safetensors.ts';

/**
 * Changed with the columns and with what is in them, such as the hash of terms: a file of another format is not read. The
 * test of a file's checksum fails where it was forgotten.
 */
const FORMAT = 'rows 3';
/** As `FORMAT`. */
const APPENDED_FORMAT = 'appended 1';
const REMOVED_FORMAT = 'removed 1';
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

/** Rows that one commit has appended to a table, and its versions before and after. */
export interface AppendedRows {
  readonly before: number;
  readonly after: number;
  readonly batch: RowBatch;
}

/** Rows that one commit has removed from a table, and its versions before and after. */
export interface RemovedRows {
  readonly before: number;
  readonly after: number;
  readonly selected: RowSelection;
}

/** Change of a table by one commit. */
export type CommittedRows = AppendedRows | RemovedRows;

/** Return the parts of the file of the rows of a table, in their order. */
export function encodeRows({ version, lastRowId, batches, keywords }: TableRows): Uint8Array[] {
  const columns = [
    ...batches.flatMap((batch, nth) => columnsOf(batch, TEXTS, `${nth}.`)),
    ...Object.entries(keywords).map(([name, values]) => [`keywords.${name}`, values as Column] as const),
  ];
  const count = `${batches.length}`;
  return encodeColumns({ format: FORMAT, version: `${version}`, last_row_id: `${lastRowId}`, batches: count }, columns);
}

/**
 * Return the rows of a file as views on its bytes, which begin at a multiple of 8. Null: its format is another one, as that
 * of a file which another release has written.
 *
 * @throws Error if it is damaged
 */
export function decodeRows(bytes: Uint8Array): TableRows | null {
  const decoded = decodeColumns(bytes);
  const { format, version, last_row_id: lastRowId, batches } = decoded.metadata;
  if (format !== FORMAT) return null;
  const rows: TableRows = {
    version: toCount(version),
    lastRowId: BigInt(lastRowId as string),
    batches: Array.from({ length: toCount(batches) }, (_, nth) => batchOf(decoded, TEXTS, `${nth}.`)),
    keywords: Object.fromEntries(
      Object.entries(KEYWORDS).map(([name, dtype]) => [name, decoded.column(`keywords.${name}`, dtype)]),
    ) as unknown as KeywordColumns,
  };
  if (rows.keywords.lengths.length !== rows.batches.reduce((sum, { count }) => sum + count, 0))
    throw new Error('its index is of other rows');
  return rows;
}

/** Return the parts of the file of a commit, in their order. */
export function encodeCommit(commit: CommittedRows): Uint8Array[] {
  const versions = { before: `${commit.before}`, after: `${commit.after}` };
  if ('batch' in commit)
    return encodeColumns({ format: APPENDED_FORMAT, ...versions }, columnsOf(commit.batch, [...TEXTS, 'tokens'], ''));
  const { documentIds, generations } = commit.selected;
  return encodeColumns({ format: REMOVED_FORMAT, ...versions, document_ids: documentIds.join(' ') }, [
    ['generations', BigInt64Array.from(generations, BigInt)],
  ]);
}

/** Return what a commit has changed, as `decodeRows`. @throws Error if the file is damaged */
export function decodeCommit(bytes: Uint8Array): CommittedRows | null {
  const decoded = decodeColumns(bytes);
  const { format, before, after, document_ids: documentIds } = decoded.metadata;
  if (format === APPENDED_FORMAT)
    return { before: toCount(before), after: toCount(after), batch: batchOf(decoded, [...TEXTS, 'tokens'], '') };
  if (format !== REMOVED_FORMAT) return null;
  const generations = Array.from(decoded.column('generations', 'I64'), Number);
  const selected = { documentIds: documentIds ? documentIds.split(' ') : [], generations };
  return { before: toCount(before), after: toCount(after), selected };
}

function toCount(text: string | undefined): number {
  if (!/^\d+$/.test(text ?? '')) throw new Error('it has no version or number of batches');
  return Number(text);
}

type TextColumn = (typeof TEXTS)[number] | 'tokens';

function columnsOf(batch: RowBatch, names: readonly TextColumn[], prefix: string): (readonly [string, Column])[] {
  const texts = names.flatMap((name): [string, Column][] => {
    const { offsets, bytes } = batch[name];
    const first = offsets[0] ?? 0;
    return [
      [`${prefix}${name}.offsets`, offsets.map((offset) => offset - first)],
      [`${prefix}${name}.bytes`, bytes.subarray(first, offsets.at(-1) ?? first)],
    ];
  });
  const { generations, chunkIndexes, vectors } = batch;
  return [
    [`${prefix}generations`, generations],
    [`${prefix}chunkIndexes`, chunkIndexes],
    [`${prefix}vectors`, vectors],
    ...texts,
  ];
}

function batchOf({ column }: DecodedColumns, names: readonly TextColumn[], prefix: string): RowBatch {
  const generations = column(`${prefix}generations`, 'I64') as BigInt64Array;
  const text = (name: string): Utf8Column => ({
    offsets: column(`${prefix}${name}.offsets`, 'I32') as Int32Array,
    bytes: column(`${prefix}${name}.bytes`, 'U8') as Uint8Array,
  });
  const count = generations.length;
  return {
    ...{ count, generations },
    tokens: { offsets: new Int32Array(count + 1), bytes: new Uint8Array(0) },
    chunkIndexes: column(`${prefix}chunkIndexes`, 'I32') as Int32Array,
    vectors: column(`${prefix}vectors`, 'F32') as Float32Array,
    ...(Object.fromEntries(names.map((name) => [name, text(name)])) as Record<(typeof TEXTS)[number], Utf8Column>),
  };
}
