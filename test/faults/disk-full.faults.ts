import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { checkBulkJob, submitTexts, textsOf } from './bulk-jobs.ts';
import { type Fleet, openFleet, TINY } from './fleet.ts';
import { checkDocuments, documentOf, routeToUpstream, uploadText } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';

const DISK_MIB = 64;
/** Free space while jobs run, so that each round runs out of space at another place. */
const FREE_KIB = [512, 250, 60, 0];
const TEXTS = 1_000;
const DOCUMENTS = 4;
const RECOVERY_MS_MAX = 60_000;
const FULL_MS = 3_000;

let fleet: Fleet | undefined;
let database: TestDatabase;
const { dataDir, remove } = makeDataDir();
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m,mode=0711`, 'tmpfs', dataDir]);
const canMount = mounted.status === 0;
if (!canMount) process.stderr.write('The test of a full disk is skipped: it mounts a tmpfs, which needs root.\n');

afterEach(async () => {
  await fleet?.close();
  await database?.drop();
  spawnSync('umount', ['-l', dataDir]);
  remove();
});

/** Fill the disk until `freeKib` are free. */
function fill(freeKib: number): void {
  const file = openSync(path.join(dataDir, 'filler'), 'a');
  const block = Buffer.alloc(4096);
  try {
    for (;;) {
      const { bavail, bsize } = statfsSync(dataDir);
      if (bavail * bsize <= freeKib * 1024) break;
      writeSync(file, block);
    }
  } finally {
    closeSync(file);
  }
}
const free = () => rmSync(path.join(dataDir, 'filler'), { force: true });

it.skipIf(!canMount)(
  'requests on a full disk are a 503, no result is partial, and all jobs end once there is space',
  async () => {
    database = await createTestDatabase();
    fleet = await openFleet({
      storage: { dataDir, databaseUrl: database.url, connection: database.connection },
      logger: openLogger('silent'),
    });
    const { appliance, call } = fleet;
    const { sql } = appliance;
    await routeToUpstream(fleet);
    fleet.upstream.decide = () => ({ kind: 'delay', ms: 20 });
    const key = await fleet.key({ scopes: ['embed', 'documents:write', 'search'] });
    const startWorkers = async () => {
      const services = [
        appliance.jobs.worker('embed', { drainMs: 0 }),
        appliance.jobs.worker('ingest', { drainMs: 0 }),
      ];
      for (const service of services) await service.start(new AbortController().signal);
      return () => Promise.all(services.map((service) => service.stop()));
    };
    let stopWorkers = await startWorkers();
    const documents = [await uploadText(fleet, 'before')];
    /** Texts by job. */
    const bulk = new Map<string, string[]>();
    const open = () =>
      sql`SELECT id, status, error_category FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
    await until(async () => (await open()).length === 0, { what: 'the first document' });

    const unexpected: string[] = [];
    let refused = 0;
    let worstMs = 0;
    for (const [round, freeKib] of FREE_KIB.entries()) {
      // The jobs start on a nearly full disk, which is then filled.
      await stopWorkers();
      for (let i = 0; i < DOCUMENTS; i++) documents.push(await uploadText(fleet, `round-${round}-${i}`));
      const texts = textsOf(`round ${round}`, TEXTS);
      bulk.set(await submitTexts(fleet, texts), texts);
      fill(freeKib);
      stopWorkers = await startWorkers();
      await delay(FULL_MS / 2);
      fill(0);
      const form = new FormData();
      form.set('file', new Blob([documentOf(`refused-${round}`)]), 'refused.txt');
      const late = textsOf(`refused ${round}`);
      const answers = await Promise.all([
        call('POST', '/v1/buckets/default/documents', {
          key,
          json: { filename: 'a.txt', text: documentOf(`json-${round}`) },
        }),
        call('POST', '/v1/buckets/default/documents', { key, body: form }),
        call('POST', '/v1/embed/jobs', { key, json: { texts: late, model: TINY.id } }),
      ]);
      for (const answer of answers) {
        const isRefused = answer.status === 503 && Number(answer.headers.get('retry-after')) > 0;
        if (isRefused) refused++;
        // A worker may have freed what it had begun to write. What is accepted then must be done.
        else if (answer.status === 200 && 'chunk_size' in answer.body) bulk.set(answer.body.id, late);
        else unexpected.push(`${answer.status} ${JSON.stringify(answer.body)}`);
      }
      const search = await call('POST', '/v2/buckets/default/search', {
        key,
        json: { query: 'finding 7 of before', top_k: 5 },
      });
      if (search.status !== 200 || search.body.results.length === 0) unexpected.push(`search: ${search.status}`);
      await delay(FULL_MS / 2);
      free();
      const freedMs = performance.now();
      await until(async () => (await open()).length === 0, { withinMs: RECOVERY_MS_MAX, everyMs: 50 }).catch(
        () => undefined,
      );
      worstMs = Math.max(worstMs, performance.now() - freedMs);
    }
    await stopWorkers();
    const stuck = (await open()).length;
    const failed = await sql`
      SELECT kind, error_category, error_message, retry_count FROM jobs WHERE status = 'failed' OR retry_count > 0`;
    const checked = await checkDocuments(fleet, documents);
    let { lost, doubled } = checked;
    for (const [id, texts] of bulk) {
      const faults = await checkBulkJob(fleet, id, texts);
      lost += faults.lost;
      doubled += faults.doubled;
    }
    const rows = await sql`SELECT count(*)::int AS n FROM jobs`;
    const unknownObjects: string[] = [];
    for await (const { key: name } of appliance.objects.list('')) {
      const [folder, , id] = name.split('/');
      const [known] =
        folder === 'bulk'
          ? await sql`SELECT 1 FROM jobs WHERE id = ${id as string}`
          : await sql`SELECT 1 FROM documents WHERE id = ${id as string}`;
      if (!known) unknownObjects.push(name);
    }
    reportFigures({
      guarantee: `disk of ${DISK_MIB} MB full`,
      ...{ n: FREE_KIB.length, lost, doubled, stuck, worstRecoveryMs: worstMs },
      note: `${refused} requests refused by a 503`,
    });
    expect({
      lost,
      doubled,
      stuck,
      unexpected,
      failed: [...failed],
      leftovers: checked.leftovers,
      unknownObjects,
    }).toEqual({
      ...{ lost: 0, doubled: 0, stuck: 0, unexpected: [], failed: [], leftovers: [], unknownObjects: [] },
    });
    expect(rows[0]?.['n']).toBe(documents.length + bulk.size);
    // The two uploads of each round at least.
    expect(refused).toBeGreaterThanOrEqual(2 * FREE_KIB.length);
  },
);
