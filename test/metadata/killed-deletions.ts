import { expect } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { recoverJobs } from '../../src/jobs/recovery.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { filesWith } from '../support/files-with.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** Text in half of the documents; after a hard delete no file of the installation may contain it. */
export const CANARY = 'zqxkvj8853wpf';
const INGESTED = 40;
const STEP_MS_MAX = 60_000;

/** Bucket with some ingested documents and many that are rows only, and a worker to kill. */
export class KilledDeletions {
  readonly test: TestAppliance;
  readonly bucketId: string;
  readonly #rows: number;
  #worker: ServiceProcess | null = null;

  private constructor(test: TestAppliance, bucketId: string, rows: number) {
    this.test = test;
    this.bucketId = bucketId;
    this.#rows = rows;
  }

  /** @param rows so many that a removal takes a while */
  static async open(name: string, rows: number): Promise<KilledDeletions> {
    const test = await openTestAppliance();
    const { sql } = test.appliance;
    const { id } = await createBucket(sql, test.operator, { name, policy: BucketPolicy.parse({}) });
    const ingest = test.appliance.jobs.worker('ingest');
    await ingest.start(new AbortController().signal);
    const texts = Array.from({ length: INGESTED }, (_, i) => `${i < INGESTED / 2 ? CANARY : 'Heron'} number ${i}.`);
    const documents = texts.map((text, i) => ({ id: String(i), fileName: `${i}.txt`, text }));
    await ingestAll(test.appliance, test.operator, name, documents).finally(() => ingest.stop());
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status)
      SELECT 'doc_' || right(${id}, 6) || lpad(i::text, 4, '0'), ${test.operator.orgId}, ${id}, 'row.txt', 1, '\\x00', 'k', '{}', 'ready'
      FROM generate_series(1, ${rows}) AS i`;
    expect(filesWith(test.dataDir, CANARY)).not.toEqual([]);
    return new KilledDeletions(test, id, rows);
  }

  async close(): Promise<void> {
    await this.kill();
    await this.test.close();
  }

  async startProcess(...args: string[]): Promise<void> {
    const env = { DATABASE_URL: this.test.databaseUrl, SERVICE_LOG_LEVEL: 'error' };
    this.#worker = await startServiceProcess([...args, '--data-dir', this.test.dataDir], env);
  }

  async kill(): Promise<void> {
    await this.#worker?.end('SIGKILL');
    this.#worker = null;
  }

  /** Start a process and kill it at this step. The last row is locked until then, so that the process cannot finish. */
  async killAt(step: () => Promise<boolean>, ...args: string[]): Promise<void> {
    await this.test.appliance.sql.begin(async (tx) => {
      // A process may take longer to start than a transaction may be idle.
      await tx`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`;
      await tx`SELECT id FROM documents WHERE bucket_id = ${this.bucketId} ORDER BY id DESC LIMIT 1 FOR UPDATE`;
      await this.startProcess(...args);
      await until(step, { withinMs: STEP_MS_MAX, everyMs: 2, what: 'the step to kill at' });
      await this.kill();
    });
  }

  /** Count the rows of the bucket. */
  async countOf(table: 'documents' | 'generations'): Promise<number> {
    const { sql } = this.test.appliance;
    const [row] = await sql`SELECT count(*)::int AS n FROM ${sql(table)} WHERE bucket_id = ${this.bucketId}`;
    return row?.['n'] as number;
  }

  /** Step at which some generations are gone. */
  readonly hasBegun = async () => (await this.countOf('generations')) < INGESTED;
  /** Step at which some rows are gone. */
  readonly isHalfDone = async () => (await this.countOf('documents')) < INGESTED / 2 + this.#rows;

  /** Hard delete the documents with the canary and all rows, with a worker that is killed at each of these steps. */
  async hardDelete(steps: readonly (() => Promise<boolean>)[]): Promise<void> {
    const { sql, metadata } = this.test.appliance;
    // Documents with the canary, by file name, and all rows.
    const rows = await sql`
      SELECT id FROM documents WHERE bucket_id = ${this.bucketId}
        AND (file_name = 'row.txt' OR split_part(file_name, '.', 1)::int < ${INGESTED / 2})`;
    const ids = rows.map((row) => row['id'] as string);
    expect(ids).toHaveLength(this.#rows + INGESTED / 2);
    const request = { caller: this.test.operator, bucketId: this.bucketId, where: null, statement: 's' };
    const { jobId } = await metadata.queueHardDelete({ ...request, documentIds: ids });
    const jobOf = async () => (await sql`SELECT status, crash_count FROM jobs WHERE id = ${jobId}`)[0];
    for (const [crashes, step] of steps.entries()) {
      await this.killAt(step, 'worker', 'ingest');
      expect(await this.countOf('documents')).toBeGreaterThan(INGESTED / 2);
      await recoverJobs(sql, new Map(), openLogger('silent'));
      expect(await jobOf()).toEqual({ status: 'queued', crash_count: crashes + 1 });
    }
    await this.startProcess('worker', 'ingest');
    const isDone = async () => (await jobOf())?.['status'] === 'ready';
    await until(isDone, { withinMs: STEP_MS_MAX, what: 'the end of the job' });
    await this.#expectDeleted(ids);
  }

  async #expectDeleted(ids: readonly string[]): Promise<void> {
    const { sql, search } = this.test.appliance;
    expect(filesWith(this.test.dataDir, CANARY)).toEqual([]);
    expect([await this.countOf('documents'), await this.countOf('generations')]).toEqual([INGESTED / 2, INGESTED / 2]);
    const table = await search.lance.tables.openForReading(this.bucketId, Number.MAX_SAFE_INTEGER);
    expect(await table?.countRows()).toBe(INGESTED / 2);
    const tombstones = await sql`
      SELECT count(*)::int AS n FROM audit_log WHERE action = 'document.hard_delete' AND target = ANY(${sql.array([...ids])})`;
    expect(tombstones).toEqual([{ n: ids.length }]);
  }
}
