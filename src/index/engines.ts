import type { Engine } from '../documents/schema.ts';

/** Name of a table of an engine other than LanceDB: the bucket's id, the engine, and the id of a run. */
const OF_ENGINE = /^[a-z]+_[0-9a-z]+_(milvus)(?:_|$)/;

/** Return the engine of a table, encoded in its name. */
export function engineOf(tableName: string): Engine {
  return (OF_ENGINE.exec(tableName)?.[1] as Engine | undefined) ?? 'lance';
}

/** Return the name of a bucket's first table: its id, and the engine unless it is LanceDB. */
export function firstTableName(bucketId: string, engine: Engine): string {
  return engine === 'lance' ? bucketId : `${bucketId}_${engine}`;
}
