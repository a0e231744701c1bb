import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../platform/config.ts';
import { indexOnS3 } from './index-on-s3.ts';
import { LanceTables } from './lance.ts';

/** Return the directory of the index on disk. */
export function indexDirectory({ dataDir }: Pick<Config, 'dataDir'>): string {
  return path.join(dataDir, 'index');
}

/**
 * Open only the search index. On an object store, `requireConditionalWrites` must have passed: a lock serialises
 * writers, and conditional writes stop a writer that lost the lock without noticing.
 */
export function openTables(config: Pick<Config, 'dataDir' | 'index' | 'objects' | 'search'>): LanceTables {
  const { tableCacheBytes } = config.search;
  if (config.objects !== null && config.index.storage === 's3')
    return new LanceTables(...indexOnS3(config.objects), tableCacheBytes);
  const directory = indexDirectory(config);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return new LanceTables(directory, {}, tableCacheBytes);
}
