import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../platform/config.ts';
import { indexOnS3 } from './index-on-s3.ts';
import { LanceTables } from './lance.ts';

/**
 * Open the search index alone. On a store of objects it is safe only where `requireConditionalWrites` said so: writers
 * are serialised by a lock, and the store's conditional writes are what stops one that lost it without knowing.
 */
export function openTables(config: Pick<Config, 'dataDir' | 'index' | 'objects'>): LanceTables {
  if (config.objects !== null && config.index.storage === 's3') return new LanceTables(...indexOnS3(config.objects));
  const directory = path.join(config.dataDir, 'index');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return new LanceTables(directory);
}
