import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { createTestRandom, type SeededRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import {
  backUp,
  makeFolder,
  never,
  type OtherMachine,
  openOtherMachine,
  searchTexts,
  secretKeyOf,
  verifyNewest,
} from './support.ts';

const WRITERS = 4;
/** Documents of the organization that writes while the backup is made. */
const BUSY_DOCUMENTS = 60;
const QUERIES = 25;
const BULK_TEXTS = 150;
const WORDS = 'rotor valve bearing shaft flange gasket piston turbine nozzle seal casing pump gauge lever spring crank'.split(' ');

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

/** What the writers were told by the API: what was there before the backup began, and what happened since. */
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

  constructor(api: TestApi, key: string, random: SeededRandom) {
    this.api = api;
    this.key = key;
    this.random = random;
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
      await delay(5);
    }
  }

  async #call(method: string, path: string, json: unknown, ...expected: number[]) {
    const reply = await this.api.call(method, path, { key: this.key, ...(json === undefined ? {} : { json }) });
    if (expected.includes(reply.status)) return reply.body;
    this.unexpected.push(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return null;
  }
}

/**
 * Back an installation up while one of its organizations writes, deletes and reindexes, restore it elsewhere, and
 * compare. The other organization does not change, so that its searches, usage and jobs must be equal to the last bit.
 *
 * @param documents documents of the organization that does not change
 */
export async function checkBackupUnderWrites(documents: number): Promise<Record<string, unknown>> {
  const source = await openTestApi();
  const { appliance } = source;
  const services: Service[] = [appliance.jobs.worker('embed'), appliance.reaper({ everyMs: 100 })];
  const folder = makeFolder();
  let other: OtherMachine | null = null;
  try {
    for (const service of services) await service.start(never());
    const random = createTestRandom('backup under writes');
    await appliance.access.createOrganization({ name: 'quiet', plan: 'pro' });
    const quiet = await appliance.access.operator('quiet');
    await createBucket(appliance.sql, quiet, { name: 'archive', policy: BucketPolicy.parse({}) });
    const texts = Array.from({ length: documents }, (_, number) => ({
      ...{ id: String(number), fileName: `report-${number}.txt`, text: textOf(random, number) },
    }));
    await ingestAll(appliance, quiet, 'archive', texts);
    const quietKey = await source.key({ org: 'quiet', scopes: ['embed', 'search', 'documents:write'] });
    const bulk = await source.call('POST', '/v1/embed/jobs', {
      key: quietKey,
      json: { texts: Array.from({ length: BULK_TEXTS }, (_, n) => textOf(random, n)) },
    });
    expect(bulk.status).toBe(200);
    const bulkPath = `/v1/embed/jobs/${bulk.body.job_id ?? bulk.body.id}`;
    await until(
      async () => /completed|ready/.test((await source.call('GET', bulkPath, { key: quietKey })).body.status),
      { withinMs: 120_000, what: 'the bulk job' },
    );
    await appliance.search.index.optimize(
      (await appliance.sql`SELECT id FROM buckets WHERE name = 'archive'`)[0]?.['id'] as string,
      never(),
    );
    const queries = Array.from({ length: QUERIES }, (_, nth) =>
      nth % 2 === 0 ? `token${random.int(documents)}x` : `${random.pick(WORDS)} ${random.pick(WORDS)} report`,
    );
    const found = [];
    for (const query of queries) found.push(await searchTexts(appliance, quiet, 'archive', query));
    await appliance.usage.meter.flush();
    const before = await observe(appliance.sql, quiet.orgId);

    await createBucket(appliance.sql, source.operator, { name: 'busy', policy: BucketPolicy.parse({}) });
    const busy = new Busy(source, await source.key({ scopes: ['documents:write', 'buckets:manage', 'search'] }), random);
    for (let nth = 0; nth < BUSY_DOCUMENTS; nth++) await busy.upload();
    busy.start();
    const beganMs = performance.now();
    await until(async () => busy.writes > 20, { what: 'writes before the backup', withinMs: 60_000 });
    const deletedBefore = new Set(busy.deletedEver);
    const presentBefore = new Map(busy.present);
    const writesBefore = busy.writes;
    const report = await backUp(appliance, folder.location);
    const backupMs = performance.now() - beganMs;
    const writesDuring = busy.writes - writesBefore;
    await busy.stop();
    expect(busy.unexpected).toEqual([]);
    expect(report.missing_files).toBe(0);
    const verifyBeganMs = performance.now();
    await verifyNewest(folder.location);
    const verifyMs = performance.now() - verifyBeganMs;

    other = await openOtherMachine(secretKeyOf(source.dataDir));
    const restoreBeganMs = performance.now();
    const restored = await other.restore(folder.location);
    const restoreMs = performance.now() - restoreBeganMs;
    expect(restored.index.left_out).toEqual([]);
    const elsewhere = await other.open();
    try {
      const after = await observe(elsewhere.sql, quiet.orgId);
      expect(after).toEqual(before);
      const caller = await elsewhere.access.operator('quiet');
      for (const [nth, query] of queries.entries()) {
        const again = await searchTexts(elsewhere, caller, 'archive', query);
        expect(again.map(([text]) => text), query).toEqual((found[nth] as typeof again).map(([text]) => text));
        for (const [rank, [, score]] of again.entries()) {
          expect(score).toBeCloseTo((found[nth] as typeof again)[rank]?.[1] as number, 5);
        }
      }
      await checkBusy(elsewhere, presentBefore, deletedBefore, busy.deletedEver);
    } finally {
      await elsewhere.close();
    }
    const seconds = (ms: number) => Number((ms / 1000).toFixed(1));
    return {
      ...{ documents, rows: report.rows, files: report.files, bytes: report.bytes, writes_during: writesDuring },
      ...{ backup_s: seconds(backupMs), verify_s: seconds(verifyMs), restore_s: seconds(restoreMs) },
    };
  } finally {
    for (const service of services.toReversed()) await service.stop();
    await source.close();
    await other?.remove();
    folder.remove();
  }
}

/** Finish the restored jobs, and check that what was there before the backup is found and what was deleted is not. */
async function checkBusy(
  elsewhere: Awaited<ReturnType<OtherMachine['open']>>,
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
      { withinMs: 300_000, everyMs: 100, what: 'the restored jobs' },
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
