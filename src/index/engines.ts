import type { Engine } from '../documents/schema.ts';

/** Name of a table that another engine than LanceDB holds: the bucket's id, the engine, and the id of a run. */
const OF_ENGINE = /^[a-z]+_[0-9a-z]+_(milvus)(?:_|$)/;

/** Return the engine that holds a table, which its name tells. */
export function engineOf(tableName: string): Engine {
  return (OF_ENGINE.exec(tableName)?.[1] as Engine | undefined) ?? 'lance';
}

/** Make the name of the first table of a bucket: its id, and the engine if it is not LanceDB. */
export function firstTableName(bucketId: string, engine: Engine): string {
  return engine === 'lance' ? bucketId : `${bucketId}_${engine}`;
}
