import type { RemovalContext } from '../documents/remove-documents.ts';
import type { JobDefinition } from '../jobs/handler.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { BulkEditContext } from './edit-documents.ts';
import { hardDeleteHandler } from './hard-delete-handler.ts';
import { hardDeleteOperations } from './hard-delete-operations.ts';
import { openEdits } from './open-edits.ts';

/** Metadata edits, and hard delete jobs. */
export interface Metadata extends BulkEditContext {
  readonly jobs: JobDefinition;
}

export function openMetadata(context: {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly removal: RemovalContext;
}): Metadata {
  return {
    ...openEdits(context),
    // Run one at a time, since each rewrites a bucket's index.
    jobs: { ...hardDeleteHandler(context.removal), ...hardDeleteOperations(), worker: 'ingest', concurrency: 1 },
  };
}
