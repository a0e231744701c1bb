import { afterAll, beforeAll, expect } from 'vitest';
import { type Answer, type CallOptions, openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

export const DOCUMENTS = '/v1/buckets/default/documents';
export const CRON_SECRET = 'canary-cron-9f2c';

/** An installation without a worker, and a key that may upload and change jobs. */
export interface JobsUnderTest {
  readonly test: TestApi;
  readonly key: string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Upload a text of its own. */
  upload(fields?: Record<string, unknown>): Promise<{ id: string; job_id: string }>;
  /** Id of a job of a document of its own that was put into this state. */
  jobIn(status: string, fields?: Record<string, unknown>): Promise<string>;
  /** Have a worker do jobs for as long as `use` lasts. */
  withWorker(use: () => Promise<void>): Promise<void>;
  /** Wait for the end of a job. */
  ended(id: string): Promise<Answer['body']>;
}

/** Registers the hooks that open and close the installation. */
export function jobsUnderTest(): JobsUnderTest {
  let uploads = 0;
  const under = {} as { -readonly [K in keyof JobsUnderTest]: JobsUnderTest[K] };
  beforeAll(async () => {
    under.test = await openTestApi({ worker: false, settings: { cron_secret: CRON_SECRET } });
    under.key = await under.test.key({ scopes: ['documents:write', 'jobs:write'], authLevel: 5 });
  });
  afterAll(() => under.test.close());
  return Object.assign(under, {
    call: (method, path, options = {}) => under.test.call(method, path, { key: under.key, ...options }),
    async upload(fields = {}) {
      const json = { filename: 'note.txt', text: `Note ${++uploads}.`, ...fields };
      const { status, body } = await under.call('POST', DOCUMENTS, { json });
      expect(status).toBe(202);
      return body;
    },
    async jobIn(status, fields = {}) {
      const { job_id } = await under.upload(fields);
      const { sql } = under.test.appliance;
      await sql`UPDATE jobs SET status = ${status}, checkpoint_at = now() WHERE id = ${job_id}`;
      return job_id;
    },
    async withWorker(use) {
      const worker = under.test.appliance.jobs.worker('ingest');
      await worker.start(new AbortController().signal);
      await use().finally(() => worker.stop());
    },
    ended: (id) =>
      until(async () => {
        const { body } = await under.call('GET', `/v1/jobs/${id}`);
        return ['ready', 'failed', 'cancelled'].includes(body.status) && body;
      }),
  } satisfies Partial<JobsUnderTest>);
}
