import type { CreateIndexSimpleReq, FieldType, FunctionObject } from '@zilliz/milvus2-sdk-node';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { TEXT_BYTES_MAX } from './encode-terms.ts';
import { loadMilvus } from './load-milvus.ts';
import { CollectionMissing, type MilvusConnection, WRITE_MS_MAX } from './milvus-connection.ts';

/** Maximum number of pieces of 65,535 bytes for the text or locator of a chunk. */
const PIECES_MAX = 16;
const ID_BYTES_MAX = 128;
/** BM25 parameters, the same as for in-memory copies and LanceDB. */
const BM25 = { bm25_k1: 1.2, bm25_b: 0.75 };
const LOADED = 'LoadStateLoaded';
/** Milvus error code for a collection without indexes. */
const NO_INDEX = 700;

/**
 * Key of the row in a collection that stores its version in `chunk_index`. It matches no query, since its vector is
 * zero and it has no terms. Its generation is 0, which no chunk has.
 */
export const VERSION_KEY = 'version';

function fields(): FieldType[] {
  const { DataType } = loadMilvus();
  const text = { data_type: DataType.VarChar, max_length: TEXT_BYTES_MAX };
  const id = { data_type: DataType.VarChar, max_length: ID_BYTES_MAX };
  const pieces = { data_type: DataType.Array, element_type: DataType.VarChar, max_length: TEXT_BYTES_MAX };
  return [
    { name: 'chunk_id', ...id, is_primary_key: true },
    { name: 'document_id', ...id },
    { name: 'generation', data_type: DataType.Int64 },
    { name: 'chunk_index', data_type: DataType.Int64 },
    { name: 'collection_id', ...id, nullable: true },
    { name: 'privacy_level', data_type: DataType.Int64 },
    { name: 'event_time', data_type: DataType.Int64, nullable: true },
    { name: 'is_boilerplate', data_type: DataType.Bool },
    /** Hash of the chunk's id, for sampling. */
    { name: 'hash', data_type: DataType.Int64 },
    { name: 'text', ...pieces, max_capacity: PIECES_MAX },
    { name: 'locator', ...pieces, max_capacity: PIECES_MAX },
    { name: 'tokens', ...text, enable_analyzer: true, analyzer_params: { tokenizer: 'standard' } },
    { name: 'terms', data_type: DataType.SparseFloatVector, is_function_output: true },
    { name: 'vector', data_type: DataType.FloatVector, dim: INDEX_DIMENSIONS },
  ];
}

function functions(): FunctionObject[] {
  const { FunctionType } = loadMilvus();
  return [
    { name: 'bm25', type: FunctionType.BM25, input_field_names: ['tokens'], output_field_names: ['terms'], params: {} },
  ];
}

const INDEXES: readonly Omit<CreateIndexSimpleReq, 'collection_name'>[] = [
  { field_name: 'terms', index_type: 'SPARSE_INVERTED_INDEX', metric_type: 'BM25', params: BM25 },
  // For unit vectors this equals cosine.
  { field_name: 'vector', index_type: 'AUTOINDEX', metric_type: 'IP', params: {} },
  // Columns for filtering, deleting and sampling rows.
  ...['document_id', 'generation', 'hash'].map((field_name) => ({ field_name, index_type: 'INVERTED' })),
];

/** Collections of a Milvus server, one per table. */
export class MilvusCollections {
  readonly #connection: MilvusConnection;
  /** Names of collections known to exist. */
  readonly #found = new Set<string>();
  /** Names of collections known to be complete. */
  readonly #complete = new Set<string>();

  constructor(connection: MilvusConnection) {
    this.#connection = connection;
  }

  /** Return true if a collection exists. */
  async has(name: string): Promise<boolean> {
    if (this.#found.has(name)) return true;
    const { value } = await this.#connection.call((client) => client.hasCollection({ collection_name: name }));
    if (value) this.#found.add(name);
    return Boolean(value);
  }

  /** Discard cached knowledge about a collection. */
  forget(name: string): void {
    this.#found.delete(name);
    this.#complete.delete(name);
  }

  /**
   * Create a collection if missing, and complete one whose creation was interrupted. The caller must be the only writer
   * of the table.
   */
  async ensure(name: string): Promise<void> {
    if (this.#complete.has(name)) return;
    await this.#completeOne(name);
    this.#complete.add(name);
  }

  async #completeOne(name: string): Promise<void> {
    const collection = { collection_name: name, timeout: WRITE_MS_MAX };
    const { value: exists } = await this.#connection.call((client) => client.hasCollection(collection));
    if (exists && (await this.#isLoaded(name))) return;
    if (!exists) {
      const schema = { fields: fields(), functions: functions(), consistency_level: 'Strong' as const };
      await this.#connection.call((client) => client.createCollection({ ...collection, ...schema }));
    }
    const indexed = exists ? await this.#indexedFields(name) : [];
    for (const index of INDEXES) {
      if (indexed.includes(index.field_name)) continue;
      await this.#connection.call((client) => client.createIndex({ ...collection, ...index }));
    }
    await this.#connection.call((client) => client.loadCollectionSync(collection));
  }

  async #isLoaded(name: string): Promise<boolean> {
    const { state } = await this.#connection.call((client) => client.getLoadState({ collection_name: name }));
    return state === LOADED;
  }

  async #indexedFields(name: string): Promise<string[]> {
    const reply = await this.#connection.call(async (client) => {
      const found = await client.describeIndex({ collection_name: name });
      const isNone = found.status.code === NO_INDEX || found.status.error_code === 'IndexNotExist';
      return isNone ? { index_descriptions: [], error_code: 'Success' } : found;
    });
    return reply.index_descriptions.map(({ field_name }) => field_name);
  }

  async drop(name: string): Promise<void> {
    this.forget(name);
    try {
      await this.#connection.call((client) => client.dropCollection({ collection_name: name }));
    } catch (error) {
      if (!(error instanceof CollectionMissing)) throw error;
    }
  }

  /** Drop the collection of this name, and those whose names begin with it and `_`. */
  async dropAll(first: string): Promise<void> {
    const { data } = await this.#connection.call((client) => client.showCollections());
    for (const { name } of data) if (name === first || name.startsWith(`${first}_`)) await this.drop(name);
  }
}
