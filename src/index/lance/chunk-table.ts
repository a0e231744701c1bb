import type { FixedSizeList, Float32, Schema, Table } from 'apache-arrow';
import { joinArrays } from '../../platform/join-arrays.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { IndexedGeneration } from '../chunk-index.ts';
import { loadArrow } from './load-lance.ts';

function vectorType(): FixedSizeList<Float32> {
  const { Field, FixedSizeList, Float32 } = loadArrow();
  return new FixedSizeList(INDEX_DIMENSIONS, new Field('item', new Float32(), true));
}

/** Return the schema of a bucket's table. */
export function chunkSchema(vector = vectorType()): Schema {
  const { Field, Int32, Int64, Schema, Utf8 } = loadArrow();
  return new Schema([
    new Field('chunk_id', new Utf8(), false),
    new Field('document_id', new Utf8(), false),
    new Field('generation', new Int64(), false),
    new Field('collection_id', new Utf8(), true),
    new Field('chunk_index', new Int32(), false),
    new Field('text', new Utf8(), false),
    new Field('tokens', new Utf8(), false),
    new Field('vector', vector, false),
    new Field('locator', new Utf8(), false),
    new Field('modality', new Utf8(), false),
    new Field('privacy_level', new Int32(), false),
    new Field('event_time', new Int64(), true),
  ]);
}

/** Convert generations to an Arrow table. Pass vectors as typed arrays, never as lists of numbers. */
export function toArrowTable(generations: readonly IndexedGeneration[]): Table {
  const { Float32, Int32, Int64, makeData, RecordBatch, Struct, Table, Utf8, vectorFromArray } = loadArrow();
  const type = vectorType();
  const schema = chunkSchema(type);
  const chunks = generations.flatMap((generation) => generation.chunks);
  const vectors = joinArrays(
    Float32Array,
    generations.map((generation) => generation.vectors),
  );
  const utf8 = (values: (string | null)[]) => vectorFromArray(values, new Utf8()).data[0];
  const int32 = (values: number[]) => makeData({ type: new Int32(), data: Int32Array.from(values) });
  const vector = makeData({
    type,
    length: chunks.length,
    nullCount: 0,
    child: makeData({ type: new Float32(), data: vectors }),
  });
  const children = [
    utf8(chunks.map((chunk) => chunk.chunkId)),
    utf8(chunks.map((chunk) => chunk.documentId)),
    makeData({ type: new Int64(), data: BigInt64Array.from(chunks, (chunk) => BigInt(chunk.generation)) }),
    utf8(chunks.map((chunk) => chunk.collectionId)),
    int32(chunks.map((chunk) => chunk.chunkIndex)),
    utf8(chunks.map((chunk) => chunk.text)),
    utf8(chunks.map((chunk) => chunk.tokens)),
    vector,
    utf8(chunks.map((chunk) => JSON.stringify(chunk.locator))),
    utf8(chunks.map((chunk) => chunk.modality)),
    int32(chunks.map((chunk) => chunk.privacyLevel)),
    vectorFromArray(
      chunks.map((chunk) => (chunk.eventTimeMs === null ? null : BigInt(chunk.eventTimeMs))),
      new Int64(),
    ).data[0],
  ];
  const data = makeData({
    type: new Struct(schema.fields),
    length: chunks.length,
    nullCount: 0,
    children: children as never[],
  });
  return new Table(schema, new RecordBatch(schema, data));
}
