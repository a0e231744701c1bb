import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createKey } from '../../../src/access/keys.ts';
import type { Appliance } from '../../../src/appliance/appliance.ts';
import { openAppliance } from '../../../src/appliance/open-appliance.ts';
import { createBucket } from '../../../src/documents/buckets.ts';
import { BucketPolicy } from '../../../src/documents/schema.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { fillIndex, fillIndexDirectly } from '../../support/fill-index.ts';
import { openPassages } from '../../support/real-passages.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { until } from '../../support/until.ts';

/** Minimum chunks for writing rows directly to the table, since their ingest would take most of the run. */
const DIRECT_CHUNKS_MIN = 100_000;
/** Time in which a copy of an index is read at least: 2 minutes, and a millisecond for each chunk. */
const RESIDENT_MS = 120_000;
const PROGRESS_ROWS = 100_000;

/** Bucket searched through a server in a separate process. */
export interface SearchBucket {
  /** Installation of the server, also opened by this process. */
  readonly appliance: Appliance;
  readonly bucketId: string;
  /** Base URL of the server. */
  readonly base: string;
  /** URL of searches of the bucket. */
  readonly url: string;
  readonly key: string;
  readonly passages: { readonly count: number; at(nth: number): string };
}

/** Fill a bucket in a new installation, start a server, and remove everything after the measurement. */
export async function withSearchBucket(
  shape: { chunks: number; chunksPerDocument: number; teams: number; residentMb: number },
  measure: (bucket: SearchBucket) => Promise<void>,
): Promise<void> {
  const { chunks, residentMb } = shape;
  const { dataDir, remove } = makeDataDir();
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir } });
  writeFileSync(path.join(dataDir, 'service.yaml'), `search: { resident_mb: ${residentMb} }\n`, { mode: 0o600 });
  const passages = openPassages(chunks);
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  const { sql } = appliance;
  try {
    const operator = await appliance.access.operator('default');
    const { id: bucketId } = await createBucket(sql, operator, { name: 'large', policy: BucketPolicy.parse({}) });
    const place = { orgId: operator.orgId, bucketId };
    const stores = { sql, tables: appliance.search.lance.tables };
    if (chunks >= DIRECT_CHUNKS_MIN) {
      const beganMs = performance.now();
      const seconds = () => ((performance.now() - beganMs) / 1000).toFixed(0);
      const onRows = (rows: number) => {
        if (rows % PROGRESS_ROWS === 0) console.error(`${rows} rows were made in ${seconds()} s`);
      };
      await fillIndexDirectly(stores, place, passages, { ...shape, onRows });
      console.error(`the table of ${chunks} rows is settled after ${seconds()} s`);
    } else {
      const texts = Array.from({ length: chunks }, (_, nth) => passages.at(nth));
      await fillIndex(stores, place, texts, shape);
    }
    const { key } = await createKey(sql, appliance.keyRing, operator, { name: 'bench' });
    const server = await startServiceProcess(['serve', '--no-workers', '--port', '0', '--data-dir', dataDir], {});
    try {
      const base = String(server.ready['url']);
      const url = `${base}/v2/buckets/large/search`;
      await measure({ appliance, bucketId, base, url, key: key.reveal(), passages });
    } finally {
      await server.end('SIGTERM');
    }
  } finally {
    await appliance.close();
    remove();
  }
}

/** Wait until the server holds the index in memory. A search must have triggered the reading. */
export async function untilResident({ base, passages }: SearchBucket): Promise<void> {
  const isResident = async () => (await readMetric(base, 'service_resident_index_rows')) === passages.count;
  await until(isResident, { withinMs: RESIDENT_MS + passages.count, what: 'the copy of the index in memory' });
}

export async function readMetric(base: string, name: string): Promise<number> {
  const text = await (await fetch(`${base}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}
