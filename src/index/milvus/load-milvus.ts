import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
let milvus: typeof import('@zilliz/milvus2-sdk-node') | null = null;

/** Load the Milvus client on first use (0.1 s, 40 MB). Installations without Milvus never load it. */
export function loadMilvus(): typeof import('@zilliz/milvus2-sdk-node') {
  milvus ??= require('@zilliz/milvus2-sdk-node') as typeof import('@zilliz/milvus2-sdk-node');
  return milvus;
}
