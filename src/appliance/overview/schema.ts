import { z } from 'zod';
import { JOB_STATUSES } from '../../jobs/schema.ts';

const count = z.int().min(0);
const share = z.number().min(0).max(1).nullable().describe('null if nothing was measured');
const ms = z.number().nullable().describe('null if nothing was measured');

/** Problem that needs an operator's attention. */
export const Attention = z
  .object({
    severity: z.enum(['error', 'warning']),
    /** Part of the installation, named as in `service doctor`, or `jobs`. */
    name: z.string(),
    message: z.string().describe('what is wrong, and what to do'),
    code: z.enum(['failed_jobs', 'keyword_only']).optional().describe('kind of problem'),
    count: count.optional().describe('number of jobs or documents with the problem'),
  })
  .meta({ id: 'Attention' });
export type Attention = z.output<typeof Attention>;

const Queue = z.object({
  kind: z.string(),
  priority: z.int(),
  queued: count,
  delayed: count.describe('queued jobs that wait after a failed attempt'),
  in_progress: count,
  oldest_seconds: z.number().nullable(),
});

const Worker = z.object({
  id: z.string(),
  kind: z.string().nullable(),
  host: z.string().nullable(),
  pid: z.int().nullable(),
  started_at: z.iso.datetime().nullable(),
  silent_seconds: z.number().nullable().describe('time since its last sign of life'),
  jobs: count,
  lease_seconds: z.number().nullable(),
});

const Provider = z.object({
  provider: z.string(),
  state: z.enum(['closed', 'half-open', 'open']).describe('state of its circuit breaker; `closed`: it works'),
  calls_per_second: z.number(),
  error_rate: share,
  p50_ms: ms,
  p95_ms: ms,
  in_flight: count,
  queued_texts: count,
});

/** Load of the whole installation, for its operators. */
const InstallationLoad = z.object({
  queues: z.array(Queue),
  workers: z.array(Worker),
  throughput: z.object({
    finished_per_second: z.number(),
    failed_per_second: z.number(),
    history: z.array(count).describe('jobs finished in each of the last 60 seconds, the newest last'),
  }),
  requests: z
    .object({
      per_second: z.number(),
      fault_rate: share.describe('share of responses that were errors of the service'),
      p50_ms: ms,
      p95_ms: ms,
      texts_per_second: z.number(),
      cache_hit_rate: share,
    })
    .describe('load of the answering server since the previous request'),
  providers: z.array(Provider),
  storage: z.object({
    parts: z.record(z.string(), z.string()).describe('`ok`, or the fault, of database, objects, index and Redis'),
    disk_free_bytes: count,
    disk_total_bytes: count,
    database_bytes: count,
  }),
});

/** Workflow run that waits for a person's approval. */
const WaitingRun = z.object({
  run_id: z.string(),
  workflow_id: z.string(),
  workflow_name: z.string(),
  actor: z.string().describe('who started it'),
  started_at: z.iso.datetime(),
});

/** Response of `GET /v1/overview`: the parts of the organization that the caller may see. */
export const Overview = z
  .object({
    object: z.literal('overview'),
    at: z.iso.datetime(),
    jobs: z.object({
      live: z.partialRecord(z.enum(JOB_STATUSES), count).describe('jobs that are queued or in progress, by state'),
      last_day: z.partialRecord(z.enum(JOB_STATUSES), count).describe('jobs that ended in the last 24 hours, by state'),
      finished_per_minute: z.number(),
      failure_rate: share.describe('share of the jobs of the last 24 hours that failed'),
    }),
    documents: z.object({
      by_status: z.record(z.string(), count),
      bytes: count,
      keyword_only: count.describe('documents that only keyword search finds until their model answers again'),
      words_only: count.describe(
        'documents that only keyword search finds until a model of this host has computed their vectors',
      ),
      added: z
        .array(z.object({ date: z.iso.date(), documents: count }))
        .describe(
          'number of documents by UTC day of their upload, over the last 30 days; days without documents are left out',
        ),
    }),
    searches: z
      .array(z.object({ date: z.iso.date(), searches: count, unanswered: count }))
      .describe(
        'searches of the organization by UTC day, over the last 30 days; `unanswered`: no result seemed to answer the query; days without searches are left out',
      ),
    waiting_runs: z
      .array(WaitingRun)
      .describe('runs that the caller may approve, newest first, at most 20; empty without `workflows:approve`'),
    buckets: count,
    attention: z.array(Attention),
    installation: InstallationLoad.nullable().describe('null without the scope `platform_admin`'),
  })
  .meta({ id: 'Overview' });
export type Overview = z.output<typeof Overview>;
