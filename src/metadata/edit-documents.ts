import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { requireMetadataManager, requireOrgAdmin } from '../access/roles.ts';
import { resolveAccess } from '../documents/resolve-access.ts';
import type { BucketPolicy, BucketView } from '../documents/schema.ts';
import { findBucket, lockBucketPolicy } from '../documents/store.ts';
import { settleDocument } from '../ingest/job-store.ts';
import { cancelJobs, lockJobsOf } from '../jobs/document-jobs-store.ts';
import { notifyWorkers } from '../jobs/notifier.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import { mapPostgresError, QUERY_MS, type Sql } from '../platform/postgres.ts';
import { type AppliedEdit, applyEdits } from './apply-edits.ts';
import type { EditContext } from './edit-document.ts';
import { lockDocuments, readEditable } from './edit-store.ts';
import type { HardDeleteRequest, QueuedHardDelete } from './hard-delete.ts';
import { notDeletingSql, pendingSql } from './order-matches.ts';
import { describeChange, type EditableDocument, type Planned, planEdit, type SkipReason } from './plan-edit.ts';
import { type BulkRequest, readBulkRequest } from './read-request.ts';
import type { BulkEdit, BulkEditItem, BulkEditReply } from './schema.ts';
import { type ChangeMatch, selectChangeMatches, selectVisibleMatches } from './store.ts';

/** Maximum number of documents to change per transaction. */
const BATCH_DOCUMENTS = 500;
/** Failure message of a document that was taken out of search before it was processed. */
const TAKEN_OUT =
  'its job was cancelled because the document was removed from search; make it searchable to process it';

export interface BulkEditContext extends EditContext {
  /** Hide documents from all readers, and queue the job that removes them. */
  queueHardDelete(request: HardDeleteRequest): Promise<QueuedHardDelete>;
}

/**
 * Change or preview the documents of a bucket that match a condition, given by a statement, or by `where` and the
 * fields of an edit. Take matches up to the limit, preferring those that would change, and change them in transactions
 * of 500. If one fails after others were committed, the remaining documents stay unchanged, a warning reports it, and
 * the caller can repeat the request.
 *
 * For a change, `matched` = `updated` + `skipped`, and `items` contains every match, including skipped ones. For a
 * preview, `updated` is 0, and `items` shows every match as it would be after the change.
 *
 * @throws AppError `statement_invalid`, `statement_timeout`, `invalid_request` (400), `scope_missing`, `role_missing`
 *   (403), `bucket_not_found` (404)
 */
export async function editDocuments(
  context: BulkEditContext,
  caller: Caller,
  bucketRef: string,
  body: BulkEdit,
  signal?: AbortSignal,
): Promise<BulkEditReply> {
  const read = readBulkRequest(body);
  const access = await resolveAccess(context.sql, caller.orgId, read.edit.access);
  const request = { ...read, edit: { ...read.edit, access } };
  if (request.kind !== 'select') requireMetadataManager(caller);
  if (request.kind === 'harddelete') requireOrgAdmin(caller);
  const bucket = await findBucket(context.sql, caller, bucketRef);
  // Finding matches only reads, so it may end if the client disconnects. A change continues.
  const sql = context.sql.limited({ ms: QUERY_MS.edit, signal });
  if (request.kind === 'select') return previewSelect(sql, caller, bucket, request);
  const isHardDelete = request.kind === 'harddelete';
  if (isHardDelete && !request.isPreview && body.confirm !== `HARDDELETE ${bucket.id}`) {
    throw invalidRequest(`confirm: must be "HARDDELETE ${bucket.id}"`, 'confirm');
  }
  const run = new BulkRun(context, caller, bucket, request, body);
  const pending = (tx: Sql) =>
    isHardDelete ? notDeletingSql(tx) : pendingSql(tx, request.edit, caller, bucket.policy);
  const matches = await selectChangeMatches(sql, run.scope, pending, request.limit + 1);
  run.warnIfLimited(matches);
  const taken = matches.slice(0, request.limit).map(({ id }) => id);
  if (isHardDelete) return run.hardDelete(taken);
  return run.edit(taken);
}

async function previewSelect(
  sql: Sql,
  caller: Caller,
  bucket: BucketView,
  { where, limit, advice }: BulkRequest,
): Promise<BulkEditReply> {
  const found = await selectVisibleMatches(sql, { caller, bucketId: bucket.id, where }, limit + 1);
  const items = found.slice(0, limit).map(({ id, metadata, searchable }) => itemOf(id, metadata, searchable));
  const warnings = [...advice];
  if (found.length > limit) warnings.push(moreThan(limit, items.at(-1)?.id));
  return {
    bucket_id: bucket.id,
    matched: items.length,
    updated: 0,
    skipped: 0,
    reindex_queued: 0,
    indexed_vectors_deleted: 0,
    dry_run: true,
    items,
    warnings,
  };
}

function moreThan(limit: number, lastId: string | undefined): string {
  return `more documents match than the limit of ${limit}; to continue, add AND id > '${lastId}'`;
}

const SKIPPED: Record<SkipReason | 'changed' | 'unprocessed', string> = {
  // Documents that were hidden from the caller meanwhile count as changed, so that nothing reveals them.
  hidden: 'no longer match',
  unchanged: 'already have these values',
  deleting: 'are being deleted',
  limits: 'would have more metadata than a document can',
  changed: 'no longer match',
  unprocessed: 'were not processed',
};

/** Reasons why a match would stay unchanged. */
const UNCHANGED: Record<SkipReason, string> = {
  hidden: '',
  unchanged: 'it already has these values',
  deleting: 'it is being deleted',
  limits: 'it would have more metadata than a document can',
};

class BulkRun {
  readonly scope;
  readonly #context: BulkEditContext;
  readonly #caller: Caller;
  readonly #bucket: BucketView;
  readonly #request: BulkRequest;
  readonly #reindex: boolean;
  readonly #isDry: boolean;
  readonly #named: { where: BulkEdit['where'] | null; document_ids?: readonly string[] };
  readonly #items: BulkEditItem[] = [];
  #updated = 0;
  readonly #skipped = new Map<keyof typeof SKIPPED, number>();
  readonly #warnings: string[];

  constructor(context: BulkEditContext, caller: Caller, bucket: BucketView, request: BulkRequest, body: BulkEdit) {
    this.#context = context;
    this.#caller = caller;
    this.#bucket = bucket;
    this.#request = request;
    // Documents taken out of search need no new vectors.
    this.#reindex = body.reindex && request.edit.searchable !== false;
    this.#isDry = request.isPreview;
    const { where = null, document_ids: ids } = request.statement === null ? body : {};
    this.#named = { where, ...(ids === undefined ? {} : { document_ids: ids }) };
    this.#warnings = [...request.advice];
    this.scope = { caller, bucketId: bucket.id, where: request.where };
  }

  warnIfLimited(matches: readonly ChangeMatch[]): void {
    const { limit } = this.#request;
    const next = matches[limit];
    if (next === undefined) return;
    const more = `more documents match than the limit of ${limit}`;
    const hasMore = next.isPending || this.#reindex;
    this.#warnings.push(
      hasMore ? `${more}; send the same request again for the others` : `${more}, but the others would not change`,
    );
  }

  async edit(ids: readonly string[]): Promise<BulkEditReply> {
    for (let from = 0; from < ids.length; from += BATCH_DOCUMENTS) {
      const batch = ids.slice(from, from + BATCH_DOCUMENTS);
      try {
        await (this.#isDry ? this.#previewBatch(batch) : this.#editBatch(batch));
      } catch (error) {
        if (this.#isDry || from === 0) throw error;
        const known = mapPostgresError(error);
        const reason = known instanceof AppError ? known.message : 'an internal error';
        this.#context.logger.warn({ err: error, bucket_id: this.#bucket.id }, 'a bulk edit stopped before its end');
        this.#warnings.push(
          `the edit was stopped by an error (${reason}); send the same request again for the remaining documents`,
        );
        this.#skip('unprocessed', ids.length - from);
        break;
      }
    }
    if (this.#items.some((item) => item.reindex_job_id !== null)) await notifyWorkers(this.#context, 'ingest');
    return this.#isDry ? this.#auditedPreview(ids.length) : this.#reply(ids.length);
  }

  async hardDelete(ids: readonly string[]): Promise<BulkEditReply> {
    const documents = await readEditable(this.#context.sql, this.scope, ids, this.scope.where);
    this.#skip('changed', ids.length - documents.length);
    for (const document of documents) {
      if (!document.isReadable) this.#skip('changed');
      else if (document.status === 'deleting') this.#skip('deleting');
      else this.#items.push(itemOf(document.id, document.metadata, document.searchable));
    }
    if (this.#isDry) return this.#auditedPreview(ids.length);
    const { jobId, requestedAt, documentIds } = await this.#context.queueHardDelete({
      caller: this.#caller,
      bucketId: this.#bucket.id,
      documentIds: this.#items.map((item) => item.id),
      where: this.#request.where,
      statement: this.#request.statement ?? '',
    });
    // Match again under the locks, since some documents may have changed meanwhile.
    const taken = new Set(documentIds);
    const items = this.#items.splice(0).filter((item) => taken.has(item.id));
    this.#skip('changed', ids.length - this.#skippedCount() - items.length);
    this.#items.push(...items);
    const requested = requestedAt.toISOString();
    return { ...this.#reply(ids.length), status: 'queued', job_id: jobId, delete_requested_at: requested };
  }

  async #previewBatch(ids: readonly string[]): Promise<void> {
    const documents = await readEditable(this.#context.sql, this.scope, ids, this.scope.where);
    this.#skip('changed', ids.length - documents.length);
    for (const document of documents) {
      const planned = this.#planOne(document, this.#bucket.policy);
      if ('skip' in planned) this.#skip(planned.skip);
      if ('skip' in planned && planned.skip === 'hidden') continue;
      this.#items.push(previewItem(document, planned));
    }
  }

  async #editBatch(ids: readonly string[]): Promise<void> {
    const { applied, skips, gone } = await this.#context.sql.begin(async (tx) => {
      const { policy } = await lockBucketPolicy(tx, this.#caller.orgId, this.#bucket.id);
      const isDisabling = this.#request.edit.searchable === false;
      // Lock jobs before documents, in the same order as a finishing job.
      const jobs = isDisabling ? await lockJobsOf(tx, this.#caller.orgId, ids) : [];
      await lockDocuments(tx, this.scope, ids);
      const cancelled = await this.#cancelJobs(tx, jobs);
      const documents = await readEditable(tx, this.scope, ids, this.scope.where);
      const planned = documents.map((document) => this.#planOne(document, policy));
      const plans = planned.flatMap((each) => ('plan' in each ? [each.plan] : []));
      const skips = documents.flatMap((document, at) => {
        const each = planned[at] as Planned;
        return 'skip' in each ? [{ reason: each.skip, item: previewItem(document, each) }] : [];
      });
      const gone = ids.length - documents.length;
      const { statement } = this.#request;
      const edits = await applyEdits(tx, this.#caller, this.#bucket.id, plans, statement);
      for (const id of cancelled) await settleDocument(tx, this.#caller.orgId, id, { cancellation: TAKEN_OUT });
      return { applied: edits, skips, gone };
    });
    // Count only after the commit.
    this.#skip('changed', gone);
    for (const { reason } of skips) this.#skip(reason);
    this.#updated += applied.length;
    const skipped = skips.filter(({ reason }) => reason !== 'hidden').map(({ item }) => item);
    this.#items.push(...[...applied.map(appliedItem), ...skipped].toSorted((a, b) => (a.id < b.id ? -1 : 1)));
  }

  /**
   * Cancel the locked jobs of locked documents that the change affects. A job that was queued between the two locks
   * continues, and finds at its end that the document is not searchable.
   *
   * @returns ids of the documents that were queued or being processed
   */
  async #cancelJobs(tx: Sql, jobs: readonly { id: string; documentId: string }[]): Promise<string[]> {
    if (jobs.length === 0) return [];
    const inJobs = [...new Set(jobs.map(({ documentId }) => documentId))];
    const documents = await readEditable(tx, this.scope, inJobs, this.scope.where);
    const own = new Map(documents.filter(({ isReadable }) => isReadable).map(({ id, status }) => [id, status]));
    const jobsToCancel = jobs.filter(({ documentId }) => own.has(documentId));
    await cancelJobs(
      tx,
      this.#caller.orgId,
      jobsToCancel.map(({ id }) => id),
    );
    return [...own].filter(([, status]) => status === 'queued' || status === 'processing').map(([id]) => id);
  }

  #planOne(document: EditableDocument, bucket: BucketPolicy): Planned {
    return planEdit(document, {
      edit: this.#request.edit,
      reindex: this.#reindex,
      caller: this.#caller,
      bucket,
    });
  }

  /** Record previews in the audit log, since a series of them could probe for values that the caller may not read. */
  async #auditedPreview(matched: number): Promise<BulkEditReply> {
    const { statement, kind } = this.#request;
    await recordAudit(this.#context.sql, {
      orgId: this.#caller.orgId,
      actor: this.#caller.actor,
      action: kind === 'harddelete' ? 'document.preview_hard_delete' : 'document.preview_edit',
      target: this.#bucket.id,
      detail: { statement, ...this.#named, matched },
    });
    return this.#reply(matched);
  }

  #skip(reason: keyof typeof SKIPPED, times = 1): void {
    if (times > 0) this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + times);
  }

  #skippedCount(): number {
    return [...this.#skipped.values()].reduce((sum, count) => sum + count, 0);
  }

  #reply(matched: number): BulkEditReply {
    return {
      bucket_id: this.#bucket.id,
      matched,
      updated: this.#updated,
      skipped: this.#skippedCount(),
      reindex_queued: this.#items.filter((item) => item.reindex_job_id !== null).length,
      indexed_vectors_deleted: this.#items.reduce((sum, item) => sum + item.indexed_vectors_deleted, 0),
      dry_run: this.#isDry,
      items: this.#items,
      warnings: [
        ...this.#warnings,
        ...[...this.#skipped].map(([reason, count]) => `skipped ${count}: they ${SKIPPED[reason]}`),
      ],
    };
  }
}

function itemOf(id: string, metadata: Readonly<Record<string, string>>, searchable: boolean): BulkEditItem {
  return {
    id,
    metadata: { ...metadata },
    searchable,
    before: {},
    after: {},
    reindex_job_id: null,
    indexed_vectors_deleted: 0,
    warnings: [],
  };
}

/** Describe a match as it would be after the change, with the values that would have changed. */
function previewItem(document: EditableDocument, planned: Planned): BulkEditItem {
  if ('plan' in planned) {
    const { metadata, searchable, warnings } = planned.plan;
    return { ...itemOf(document.id, metadata, searchable), ...describeChange(planned.plan), warnings };
  }
  const { skip, fault, warnings = [] } = planned;
  return {
    ...itemOf(document.id, document.metadata, document.searchable),
    warnings: [...warnings, UNCHANGED[skip] + (fault === undefined ? '' : `: ${fault}`)],
  };
}

function appliedItem({ plan, reindexJobId }: AppliedEdit): BulkEditItem {
  return {
    id: plan.document.id,
    metadata: plan.metadata,
    searchable: plan.searchable,
    ...describeChange(plan),
    reindex_job_id: reindexJobId,
    indexed_vectors_deleted: plan.dropsVectors ? plan.document.indexedVectors : 0,
    warnings: plan.warnings,
  };
}
