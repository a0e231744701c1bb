import { recordAudit } from '../../access/audit.ts';
import { type Caller, requireScope } from '../../access/caller.ts';
import { findBucket, lockBucket } from '../../documents/store.ts';
import { conflict, notFound } from '../../platform/errors.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { LOG_LEVELS, type LogLevel, type SearchLogSettings } from '../../platform/search-settings.ts';
import { countJudgedQueries, findBucketOfDocument, selectJudgedQueries, storeJudgement } from './judgement-store.ts';
import { selectLevel, updateLevel } from './level-store.ts';
import { selectSearch } from './log-store.ts';
import { readLevel } from './read-log.ts';
import type { Judgement, SearchLogLevel } from './schema.ts';

/** Database connection and settings of the search log. */
export interface SearchLogContext {
  readonly sql: Sql;
  readonly settings: SearchLogSettings;
}

/** Maximum number of judged queries of a bucket, which is also the limit of `service index tune`. */
export const JUDGED_QUERIES_MAX = 10_000;

/**
 * Set how much an organization keeps of its searches. Queries that the new level doesn't keep become unreadable at
 * once; a sweep deletes them later.
 *
 * @param level null to use the operator's level
 * @throws AppError `search_log_level_not_allowed` (409)
 */
export async function setLevel(
  { sql, settings }: SearchLogContext,
  { orgId, actor }: Caller,
  level: LogLevel | null,
): Promise<SearchLogLevel> {
  const { levelMax } = settings;
  if (level !== null && LOG_LEVELS.indexOf(level) > LOG_LEVELS.indexOf(levelMax)) {
    throw conflict(
      `the highest level that the operator allows is "${levelMax}" (search.log_max in service.yaml)`,
      'search_log_level_not_allowed',
    );
  }
  await inTransaction(sql, async (tx) => {
    const before = await selectLevel(tx, orgId);
    await updateLevel(tx, orgId, level);
    const detail = { before, after: level };
    await recordAudit(tx, { orgId, actor, action: 'organization.search_log', target: orgId, detail });
  });
  return readLevel(sql, settings, orgId);
}

/**
 * Record how well a document answers the query of a logged search.
 *
 * @throws AppError `search_not_found`, `document_not_found` (404), `not_searched`, `too_many_judgements` (409)
 */
export async function judge(
  { sql, settings }: SearchLogContext,
  caller: Caller,
  searchId: string,
  { document_id: documentId, grade }: { readonly document_id: string; readonly grade: number | null },
): Promise<Judgement> {
  const { orgId, actor } = caller;
  const { level } = await readLevel(sql, settings, orgId);
  const search = level === 'queries' ? await selectSearch(sql, caller, searchId) : null;
  if (search === null) throw notFound('search', searchId);
  const bucketId = await findBucketOfDocument(sql, caller, documentId);
  if (bucketId === null) throw notFound('document', documentId);
  if (!search.bucketIds.includes(bucketId)) {
    throw conflict('the search did not look into the bucket of this document', 'not_searched');
  }
  const judgement = { bucket_id: bucketId, query: search.query, document_id: documentId, grade };
  await inTransaction(sql, async (tx) => {
    await lockBucket(tx, orgId, bucketId);
    await storeJudgement(tx, orgId, judgement);
    if ((await countJudgedQueries(tx, orgId, bucketId)) > JUDGED_QUERIES_MAX) {
      throw conflict(`a bucket has at most ${JUDGED_QUERIES_MAX} judged queries`, 'too_many_judgements');
    }
    // Leave the query out of the audit log: queries stay in the search log only, which has its own retention.
    const detail = { document: documentId, grade };
    await recordAudit(tx, { orgId, actor, action: 'search.judge', target: bucketId, detail });
  });
  return judgement;
}

/**
 * List the judged queries of a bucket, ordered by text.
 *
 * @throws AppError `scope_missing` (403), `bucket_not_found` (404)
 */
export async function listJudgedQueries(
  sql: Sql,
  caller: Caller,
  bucketRef: string,
  page: { readonly limit: number; readonly after?: string | undefined } = { limit: JUDGED_QUERIES_MAX },
): Promise<{ query: string; relevant: Record<string, number> }[]> {
  requireScope(caller, 'users:manage');
  const { id } = await findBucket(sql, caller, bucketRef);
  return selectJudgedQueries(sql, caller, id, page);
}
