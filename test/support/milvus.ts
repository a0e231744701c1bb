import { inject } from 'vitest';

export { startMilvus, type TestMilvus } from './milvus-server.ts';

/** Return true if this machine has Milvus Lite. Without it, tests that need a Milvus are skipped. */
export function milvusAvailable(): boolean {
  return inject('servers').milvus;
}
