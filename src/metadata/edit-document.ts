import type { Caller } from '../access/caller.ts';
import { requireMetadataManager } from '../access/roles.ts';
import { resolveAccess } from '../documents/resolve-access.ts';
import { findBucket, lockBucketPolicy } from '../documents/store.ts';
import { hindranceOf } from '../documents/visibility.ts';
import { type JobNotifier, notifyWorkers } from '../jobs/notifier.ts';
import { forbidden, invalidRequest, notFound } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { applyEdits } from './apply-edits.ts';
import { lockDocuments, readEditable } from './edit-store.ts';
import { planEdit } from './plan-edit.ts';
import type { EditReply, SingleEdit } from './schema.ts';

export interface EditContext {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  /** Workflow whose run makes the edit, if any. */
  readonly workflowId?: string;
}

/**
 * Edit the metadata and access policy of a document. Edits of the same document are serialised, so that none is lost.
 *
 * @throws AppError `scope_missing`, `role_missing`, `auth_level_too_low` (403), `bucket_not_found`,
 *   `document_not_found` (404), 400 if the merged metadata exceeds its limits
 */
export async function editDocument(
  { sql, notifier, logger, workflowId }: EditContext,
  caller: Caller,
  bucketRef: string,
  documentId: string,
  { reindex, ...given }: SingleEdit,
): Promise<EditReply> {
  requireMetadataManager(caller);
  const bucket = await findBucket(sql, caller, bucketRef);
  const edit = { ...given, access: await resolveAccess(sql, caller.orgId, given.access) };
  const scope = { caller, bucketId: bucket.id };
  const reply = await sql.begin(async (tx): Promise<EditReply> => {
    const { policy } = await lockBucketPolicy(tx, caller.orgId, bucket.id);
    await lockDocuments(tx, scope, [documentId]);
    const [document] = await readEditable(tx, scope, [documentId], null);
    if (!document || document.status === 'deleting') throw notFound('document', documentId);
    if (hindranceOf(caller, document.access) === 'level') {
      throw forbidden(
        `your auth level ${caller.authLevel} is below the document's privacy_level`,
        'auth_level_too_low',
      );
    }
    const result = planEdit(document, { edit, reindex, caller, bucket: policy });
    const unchanged = { bucket_id: bucket.id, collection_id: document.collectionId, id: document.id };
    if ('skip' in result) {
      if (result.skip === 'hidden') throw notFound('document', documentId);
      if (result.skip === 'limits') throw invalidRequest(`metadata: ${result.fault}`, 'metadata');
      return {
        ...unchanged,
        metadata: { ...document.metadata },
        reindex_queued: false,
        reindex_job_id: null,
        indexed_vectors_deleted: 0,
        warnings: [...(result.warnings ?? [])],
      };
    }
    const { plan } = result;
    const [applied] = await applyEdits(tx, caller, bucket.id, [plan], null, workflowId);
    return {
      ...unchanged,
      metadata: plan.metadata,
      reindex_queued: plan.isReindexed,
      reindex_job_id: applied?.reindexJobId ?? null,
      indexed_vectors_deleted: plan.dropsVectors ? document.indexedVectors : 0,
      warnings: plan.warnings,
    };
  });
  if (reply.reindex_queued) await notifyWorkers({ notifier, logger }, 'ingest');
  return reply;
}
