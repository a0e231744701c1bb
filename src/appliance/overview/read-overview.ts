import { type Caller, hasScope } from '../../access/caller.ts';
import { jobVisibleTo } from '../../documents/visibility.ts';
import { selectSearchDays } from '../../insight/search-counts-store.ts';
import { countFinished, countLive, readClock, type WatchScope } from '../../jobs/watch-store.ts';
import type { Sql } from '../../platform/postgres.ts';
import { selectWaitingRuns } from '../../workflows/run-store.ts';
import { countBuckets, countDocuments, countDocumentsByDay } from './overview-store.ts';
import type { Attention, Overview } from './schema.ts';

const DAY_MS = 86_400_000;
/** Number of days in daily figures, including today. */
const DAYS = 30;
const WAITING_RUNS_MAX = 20;

/** Read the organization's part of an overview, in one snapshot of what the caller may see. */
export async function readOrganization(sql: Sql, caller: Caller): Promise<Omit<Overview, 'installation'>> {
  return sql.begin('isolation level repeatable read read only', async (tx) => {
    const at = await readClock(tx);
    const scope: WatchScope = { orgId: caller.orgId, visible: (of) => jobVisibleTo(of, caller) };
    const live = await countLive(tx, scope);
    const finished = await countFinished(tx, scope, { after: new Date(at.getTime() - DAY_MS), settledAt: at });
    const documents = await countDocuments(tx, caller);
    const start = new Date(at.getTime() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
    const added = await countDocumentsByDay(tx, caller, start);
    const searches = await selectSearchDays(tx, caller.orgId, start);
    const waiting = hasScope(caller, 'workflows:approve') ? await selectWaitingRuns(tx, caller, WAITING_RUNS_MAX) : [];
    const buckets = await countBuckets(tx, caller);
    const lastDay = Object.fromEntries(finished.map(({ status, settled, fresh }) => [status, settled + fresh]));
    const ended = Object.values(lastDay).reduce((sum, n) => sum + n, 0);
    return {
      object: 'overview',
      at: at.toISOString(),
      jobs: {
        live: Object.fromEntries(live.map(({ status, n }) => [status, n])),
        last_day: lastDay,
        finished_per_minute: finished.reduce((sum, { lastMinute }) => sum + lastMinute, 0),
        failure_rate: ended === 0 ? null : (lastDay['failed'] ?? 0) / ended,
      },
      documents: {
        by_status: documents.byStatus,
        bytes: documents.bytes,
        keyword_only: documents.keywordOnly,
        words_only: documents.wordsOnly,
        added,
      },
      searches,
      waiting_runs: waiting,
      buckets,
      attention: attentionOf(lastDay['failed'] ?? 0, documents.keywordOnly),
    };
  });
}

function attentionOf(failedJobs: number, keywordOnly: number): Attention[] {
  const found: Attention[] = [];
  if (failedJobs > 0) {
    const message =
      failedJobs === 1
        ? '1 job failed in the last 24 hours; see its reason, and reprocess it'
        : `${failedJobs} jobs failed in the last 24 hours; see their reasons, and reprocess them`;
    found.push({ severity: 'warning', name: 'jobs', message, code: 'failed_jobs', count: failedJobs });
  }
  if (keywordOnly > 0) {
    const subject = keywordOnly === 1 ? '1 document has' : `${keywordOnly} documents have`;
    const message = `${subject} no vectors yet, because the model did not answer; until it does, searches match only words`;
    found.push({ severity: 'warning', name: 'documents', message, code: 'keyword_only', count: keywordOnly });
  }
  return found;
}
