import { afterAll, beforeAll, expect } from 'vitest';
import { type Answer, type CallOptions, openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

export const DOCUMENTS = '/v1/buckets/default/documents';
export const CRON_SECRET = 'canary-cron-9f2c';

/** Installation without a worker, and a key that may upload documents and change jobs. */
export interface JobsUnderTest {
  readonly test: TestApi;
  readonly key: string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Upload a document with a new text. */
  upload(fields?: Record<string, unknown>): Promise<{ id: string; job_id: string }>;
  /** Upload a document and set the state of its job. @returns the id of the job */
  jobIn(status: string, fields?: Record<string, unknown>): Promise<string>;
  /** Run a worker until `use` is settled. */
  withWorker(use: () => Promise<void>): Promise<void>;
  /** Wait for the end of a job. */
  awaitEnd(id: string): Promise<Answer['body']>;
}

/** Register the hooks that open and close the installation. */
export function jobsUnderTest(): JobsUnderTest {
  let uploads = 0;
  const fixture = {} as { -readonly [K in keyof JobsUnderTest]: JobsUnderTest[K] };
  beforeAll(async () => {
    fixture.test = await openTestApi({ worker: false, settings: { cron_secret: CRON_SECRET } });
    fixture.key = await fixture.test.key({ scopes: ['documents:write', 'jobs:write'], authLevel: 5 });
  });
  afterAll(() => fixture.test.close());
  return Object.assign(fixture, {
    call: (method, path, options = {}) => fixture.test.call(method, path, { key: fixture.key, ...options }),
    async upload(fields = {}) {
      const json = { filename: 'note.txt', text: `Note ${++uploads}.`, ...fields };
      const { status, body } = await fixture.call('POST', DOCUMENTS, { json });
      expect(status).toBe(202);
      return body;
    },
    async jobIn(status, fields = {}) {
      const { job_id } = await fixture.upload(fields);
      const { sql } = fixture.test.appliance;
      await sql`UPDATE jobs SET status = ${status}, checkpoint_at = now() WHERE id = ${job_id}`;
      return job_id;
    },
    async withWorker(use) {
      const worker = fixture.test.appliance.jobs.worker('ingest');
      await worker.start(new AbortController().signal);
      await use().finally(() => worker.stop());
    },
    awaitEnd: (id) =>
      until(async () => {
        const { body } = await fixture.call('GET', `/v1/jobs/${id}`);
        return ['ready', 'failed', 'cancelled'].includes(body.status) && body;
      }),
  } satisfies Partial<JobsUnderTest>);
}
