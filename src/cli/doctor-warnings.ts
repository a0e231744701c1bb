import { statfs } from 'node:fs/promises';
import { countDocumentsOfModel, selectGrowth } from '../documents/growth-store.ts';
import { aliasBackendsOf } from '../embedding/open-embedding.ts';
import { readQueueDepths } from '../jobs/queue-store.ts';
import { selectReaperAge } from '../jobs/reaper-store.ts';
import type { JobKind } from '../jobs/schema.ts';
import { countLiveWorkers } from '../jobs/worker-store.ts';
import { LEXICAL_ID, SEMANTIC_ID } from '../models/catalog.ts';
import type { Config } from '../platform/config.ts';
import type { Sql } from '../platform/postgres.ts';
import { selectActiveMaps } from '../projection/store.ts';
import { formatBytes } from './table.ts';

const DAY_MS = 24 * 3_600_000;
/** Number of days of uploads used to compute the current rate. */
const GROWTH_DAYS = 7;
/** Minimum time over which a rate is measured. A single upload an hour ago gives no rate. */
const GROWTH_MS_MIN = DAY_MS;
/** Number of days before the disk is full at which to start warning. */
const FULL_DAYS_MIN = 14;
/** Estimated bytes of a chunk: its text and vectors in the artifact and in the index. */
const CHUNK_BYTES = 12 * 1024;
/** Number of intervals without a heartbeat after which a reaper counts as missing. */
const REAPER_INTERVALS_MAX = 3;

/** Problem that an operator should know about, although the service works. */
export interface Warning {
  readonly name: string;
  readonly detail: string;
}

/** Find problems that don't stop the service yet, each with its remedy. Migrations must be up to date. */
export async function findWarnings(sql: Sql, config: Config): Promise<Warning[]> {
  const found = [
    ...(await findIdleQueues(sql, config)),
    await findMissingReaper(sql),
    await findLexicalModel(sql, config),
    await findUncalibratedAlias(sql, config),
    await findFullDisk(sql, config),
  ];
  return found.filter((warning) => warning !== null);
}

/** Find kinds of jobs that are due but have no running worker. */
async function findIdleQueues(sql: Sql, { workers }: Config): Promise<Warning[]> {
  const waiting = new Map<JobKind, number>();
  for (const { kind, queued, delayed } of await readQueueDepths(sql)) {
    if (queued > delayed) waiting.set(kind, (waiting.get(kind) ?? 0) + queued - delayed);
  }
  const warnings: Warning[] = [];
  for (const [kind, jobs] of waiting) {
    if ((await countLiveWorkers(sql, kind, workers.leaseMs)) > 0) continue;
    const command = kind === 'bulk' ? 'service worker embed' : 'service worker ingest';
    const detail = `${jobs === 1 ? `1 ${kind} job waits` : `${jobs} ${kind} jobs wait`}, and no worker runs; start "service serve" or "${command}"`;
    warnings.push({ name: 'workers', detail });
  }
  return warnings;
}

async function findMissingReaper(sql: Sql): Promise<Warning | null> {
  const last = await selectReaperAge(sql);
  const name = 'reaper';
  const advice = 'start "service serve" or "service reaper", which recover lost jobs and remove deleted data';
  if (last === null) return { name, detail: `no reaper has run yet; ${advice}` };
  if (last.ageMs <= REAPER_INTERVALS_MAX * last.everyMs) return null;
  return { name, detail: `no reaper has run for ${Math.round(last.ageMs / 60_000)} min; ${advice}` };
}

async function findLexicalModel(sql: Sql, config: Config): Promise<Warning | null> {
  if (aliasBackendsOf(config).some((id) => id !== LEXICAL_ID)) return null;
  const documents = await countDocumentsOfModel(sql, LEXICAL_ID);
  if (documents === 0) return null;
  const detail = `${LEXICAL_ID} embedded ${documents === 1 ? '1 document' : `${documents} documents`}, and it matches words only; to search by meaning, run "service models adopt ${SEMANTIC_ID}"`;
  return { name: 'default model', detail };
}

async function findUncalibratedAlias(sql: Sql, config: Config): Promise<Warning | null> {
  const backends = aliasBackendsOf(config);
  if (backends.length < 2) return null;
  const spaces = new Map((await selectActiveMaps(sql)).map(({ model, spaceId }) => [model, spaceId]));
  if (new Set(backends.map((id) => spaces.get(id) ?? id)).size === 1) return null;
  const without = backends.filter((id) => !spaces.has(id));
  const detail = `the vectors of ${backends.join(' and ')} cannot be compared, so one of them embeds all languages; run "service projections fit --model ${without[0] ?? backends[0]}"`;
  return { name: 'alias', detail };
}

async function findFullDisk(sql: Sql, { dataDir, objects, index }: Config): Promise<Warning | null> {
  if (objects !== null && index.storage === 's3') return null;
  const { fileBytes, chunks, overMs } = await selectGrowth(sql, GROWTH_DAYS);
  if (overMs < GROWTH_MS_MIN) return null;
  const { bavail, bsize } = await statfs(dataDir);
  return describeGrowth({ bytes: fileBytes + chunks * CHUNK_BYTES, overMs, freeBytes: bavail * bsize });
}

/** Warn if the disk will be full soon at the recent growth rate. */
export function describeGrowth({
  bytes,
  overMs,
  freeBytes,
}: {
  readonly bytes: number;
  readonly overMs: number;
  readonly freeBytes: number;
}): Warning | null {
  const perDay = (bytes / overMs) * DAY_MS;
  const days = perDay === 0 ? Number.POSITIVE_INFINITY : freeBytes / perDay;
  if (days >= FULL_DAYS_MIN) return null;
  const detail = `at the current rate of about ${formatBytes(perDay)} a day, the disk is full in ${Math.floor(days)} days (${formatBytes(freeBytes)} are free); add space, or delete documents`;
  return { name: 'disk space', detail };
}
