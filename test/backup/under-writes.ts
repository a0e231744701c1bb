import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { createTestRandom, type SeededRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { backUp, makeFolder, never, openOtherMachine, searchTexts, secretKeyOf, verifyNewest } from './support.ts';

const WRITERS = 4;
/** Documents of the organization that writes while the backup is made. */
const BUSY_DOCUMENTS = 60;
const QUERIES = 25;
const BULK_TEXTS = 150;
const WORDS =
  'rotor valve bearing shaft flange gasket piston turbine nozzle seal casing pump gauge lever spring crank'.split(' ');

function textOf(random: SeededRandom, number: number): string {
  const words = Array.from({ length: 40 }, () => random.pick(WORDS));
  return `Report ${number} of series ${number % 97}. ${words.join(' ')}. The reference is token${number}x.`;
}

/** Searches, usage and jobs of one organization. */
async function observe(sql: Sql, orgId: string) {
  return {
    usage: await sql`SELECT * FROM usage_ledger WHERE org_id = ${orgId} ORDER BY day, axis, model, internal`,
    counters: await sql`SELECT * FROM usage_counters WHERE org_id = ${orgId} ORDER BY axis, month`,
    jobs: await sql`SELECT * FROM jobs WHERE org_id = ${orgId} ORDER BY id`,
    documents: await sql`SELECT * FROM documents WHERE org_id = ${orgId} ORDER BY id`,
  };
}

/** Writers of an organization, with what the API has confirmed to them. */
class Busy {
  readonly api: TestApi;
  readonly key: string;
  readonly random: SeededRandom;
  /** Documents by id, with the token of each. */
  readonly present = new Map<string, string>();
  readonly deletedEver = new Set<string>();
  readonly unexpected: string[] = [];
  writes = 0;
  #next = 0;
  #stop = false;
  #loops: Promise<void>[] = [];
  readonly #pauseMs: number;

  /** @param pauseMs time that each writer waits after a write */
  constructor(api: TestApi, key: string, random: SeededRandom, pauseMs: number) {
    this.api = api;
    this.key = key;
    this.random = random;
    this.#pauseMs = pauseMs;
  }

  async upload(): Promise<void> {
    const number = 1_000_000 + this.#next++;
    const json = { filename: `busy-${number}.txt`, text: textOf(this.random, number), on_duplicate: 'allow' };
    const reply = await this.#call('POST', '/v1/buckets/busy/documents', json, 202);
    if (reply !== null) this.present.set(reply.id, `token${number}x`);
  }

  start(): void {
    this.#loops = Array.from({ length: WRITERS }, () => this.#write());
  }

  async stop(): Promise<void> {
    this.#stop = true;
    await Promise.all(this.#loops);
  }

  async #write(): Promise<void> {
    while (!this.#stop) {
      const choice = this.random.real();
      const [id] = this.random.pick([...this.present]) ?? [];
      if (choice < 0.5 || id === undefined || this.present.size < BUSY_DOCUMENTS / 2) await this.upload();
      else if (choice < 0.75) {
        this.present.delete(id);
        this.deletedEver.add(id);
        await this.#call('DELETE', `/v1/buckets/busy/documents/${id}`, undefined, 204, 202, 200);
      } else {
        const json = { metadata: { round: String(this.writes) }, reindex: true };
        await this.#call('PATCH', `/v1/buckets/busy/documents/${id}/metadata`, json, 200, 404);
      }
      this.writes++;
      await delay(this.#pauseMs);
    }
  }

  async #call(method: string, path: string, json: unknown, ...expected: number[]) {
    const reply = await this.api.call(method, path, { key: this.key, ...(json === undefined ? {} : { json }) });
    if (expected.includes(reply.status)) return reply.body;
    this.unexpected.push(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return null;
  }
}

/** Rows, searches and usage of an organization that does not change any more. */
interface Quiet {
  readonly orgId: string;
  readonly queries: readonly string[];
  readonly found: readonly (readonly [text: string, score: number][])[];
  readonly rows: Awaited<ReturnType<typeof observe>>;
}

/** Fill an organization with documents and a bulk job, and search it. */
async function makeQuiet(source: TestApi, documents: number, random: SeededRandom): Promise<Quiet> {
  const { appliance } = source;
  await appliance.access.createOrganization({ name: 'quiet', plan: 'pro' });
  const quiet = await appliance.access.operator('quiet');
  const { id } = await createBucket(appliance.sql, quiet, { name: 'archive', policy: BucketPolicy.parse({}) });
  const texts = Array.from({ length: documents }, (_, number) => ({
    ...{ id: String(number), fileName: `report-${number}.txt`, text: textOf(random, number) },
  }));
  await ingestAll(appliance, quiet, 'archive', texts);
  const key = await source.key({ org: 'quiet', scopes: ['embed', 'search', 'documents:write'] });
  const json = { texts: Array.from({ length: BULK_TEXTS }, (_, n) => textOf(random, n)) };
  const bulk = await source.call('POST', '/v1/embed/jobs', { key, json });
  expect(bulk.status).toBe(200);
  const isDone = async () => {
    const [row] = await appliance.sql`SELECT status FROM jobs WHERE kind = 'bulk'`;
    return row?.['status'] === 'ready';
  };
  await until(isDone, { withinMs: 120_000, what: 'the bulk job' });
  await appliance.search.index.optimize(id, never());
  const queries = Array.from({ length: QUERIES }, (_, nth) =>
    nth % 2 === 0 ? `token${random.int(documents)}x` : `${random.pick(WORDS)} ${random.pick(WORDS)} report`,
  );
  const found = [];
  for (const query of queries) found.push(await searchTexts(appliance, quiet, 'archive', query));
  await appliance.usage.meter.flush();
  return { orgId: quiet.orgId, queries, found, rows: await observe(appliance.sql, quiet.orgId) };
}

/** Check that searches, usage and jobs of the organization are the same elsewhere. */
async function checkQuiet(elsewhere: Appliance, quiet: Quiet): Promise<void> {
  expect(await observe(elsewhere.sql, quiet.orgId)).toEqual(quiet.rows);
  const caller = await elsewhere.access.operator('quiet');
  for (const [nth, query] of quiet.queries.entries()) {
    const before = quiet.found[nth] ?? [];
    const again = await searchTexts(elsewhere, caller, 'archive', query);
    expect(
      again.map(([text]) => text),
      query,
    ).toEqual(before.map(([text]) => text));
    for (const [rank, [, score]] of again.entries()) expect(score).toBeCloseTo(before[rank]?.[1] as number, 5);
  }
}

async function timed<T>(work: Promise<T>): Promise<{ result: T; seconds: number }> {
  const beganMs = performance.now();
  const result = await work;
  return { result, seconds: Number(((performance.now() - beganMs) / 1000).toFixed(1)) };
}

/**
 * Back an installation up while one of its organizations writes, deletes and reindexes, restore it elsewhere, and
 * compare. The other organization does not change, so that its searches, usage and jobs must be equal.
 *
 * @param documents documents of the organization that does not change
 */
export async function checkBackupUnderWrites(documents: number): Promise<Record<string, unknown>> {
  const source = await openTestApi();
  const { appliance } = source;
  const services: Service[] = [appliance.jobs.worker('embed'), appliance.reaper({ everyMs: 100 })];
  const folder = makeFolder();
  const other = await openOtherMachine(secretKeyOf(source.dataDir));
  const random = createTestRandom('backup under writes');
  let busy: Busy | null = null;
  try {
    for (const service of services) await service.start(never());
    const quiet = await makeQuiet(source, documents, random);
    await createBucket(appliance.sql, source.operator, { name: 'busy', policy: BucketPolicy.parse({}) });
    const key = await source.key({ scopes: ['documents:write', 'buckets:manage', 'search'] });
    // The backup of many documents takes longer, and all that is written meanwhile is ingested after the restore.
    busy = new Busy(source, key, random, Math.max(5, documents / 200));
    for (let nth = 0; nth < BUSY_DOCUMENTS; nth++) await busy.upload();
    busy.start();
    const { writes, present, deletedEver } = busy;
    await until(async () => (busy as Busy).writes > writes + 20, {
      what: 'writes before the backup',
      withinMs: 60_000,
    });
    const before = { present: new Map(present), deleted: new Set(deletedEver), writes: busy.writes };
    const { result: report, seconds: backup_s } = await timed(backUp(appliance, folder.location));
    const writes_during = busy.writes - before.writes;
    await busy.stop();
    expect(busy.unexpected).toEqual([]);
    expect(report.missing_files).toBe(0);
    const { seconds: verify_s } = await timed(verifyNewest(folder.location));
    const { result: restored, seconds: restore_s } = await timed(other.restore(folder.location));
    expect(restored.index.left_out).toEqual([]);
    const elsewhere = await other.open();
    try {
      await checkQuiet(elsewhere, quiet);
      await checkBusy(elsewhere, before.present, before.deleted, deletedEver);
    } finally {
      await elsewhere.close();
    }
    const { rows, files, bytes } = report;
    return { documents, rows, files, bytes, writes_during, backup_s, verify_s, restore_s };
  } finally {
    await busy?.stop();
    for (const service of services.toReversed()) await service.stop();
    await source.close();
    await other.remove();
    folder.remove();
  }
}

/** Finish the restored jobs, and check that what was there before the backup is found and what was deleted is not. */
async function checkBusy(
  elsewhere: Appliance,
  presentBefore: ReadonlyMap<string, string>,
  deletedBefore: ReadonlySet<string>,
  deletedEver: ReadonlySet<string>,
): Promise<void> {
  const { sql } = elsewhere;
  const worker = elsewhere.jobs.worker('ingest');
  await worker.start(never());
  try {
    await elsewhere.documents.purge(never());
    await until(
      async () => {
        const [row] = await sql`
          SELECT count(*)::int AS n FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
        return row?.['n'] === 0;
      },
      { withinMs: 900_000, everyMs: 100, what: 'the restored jobs' },
    );
    const failed = await sql`SELECT id, error_category, error_message FROM jobs WHERE status = 'failed'`;
    expect([...failed]).toEqual([]);
    const rows = await sql`SELECT id, status FROM documents WHERE file_name LIKE 'busy-%'`;
    const ids = new Set(rows.map((row) => row['id'] as string));
    expect([...deletedBefore].filter((id) => ids.has(id))).toEqual([]);
    expect(rows.filter((row) => row['status'] !== 'ready')).toEqual([]);
    const caller = await elsewhere.access.operator('default');
    for (const [id, token] of presentBefore) {
      if (deletedEver.has(id)) continue; // deleted while the backup was made: it may be in it or not
      expect(ids, `${id} was uploaded before the backup`).toContain(id);
      const [first] = await searchTexts(elsewhere, caller, 'busy', token);
      expect(first?.[0]).toContain(token);
    }
  } finally {
    await worker.stop();
  }
}
