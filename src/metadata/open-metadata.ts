import type { RemovalContext } from '../documents/remove-documents.ts';
import type { JobDefinition } from '../jobs/handler.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Logger } from '../platform/logger.ts';
import { QUERY_MS, type Sql } from '../platform/postgres.ts';
import type { BulkEditContext } from './edit-documents.ts';
import { queueHardDelete } from './hard-delete.ts';
import { hardDeleteHandler } from './hard-delete-handler.ts';
import { hardDeleteOperations } from './hard-delete-operations.ts';

/** Edits of metadata, and the jobs of hard deletes. */
export interface Metadata extends BulkEditContext {
  readonly jobs: JobDefinition;
}

export function openMetadata(context: {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly removal: RemovalContext;
}): Metadata {
  const { notifier, logger, removal } = context;
  const sql = context.sql.limited({ ms: QUERY_MS.edit });
  return {
    ...{ sql, notifier, logger },
    queueHardDelete: (request) => queueHardDelete({ sql, notifier, logger }, request),
    // One at a time: each writes the index of a bucket anew.
    jobs: { ...hardDeleteHandler(removal), ...hardDeleteOperations(), worker: 'ingest', concurrency: 1 },
  };
}
