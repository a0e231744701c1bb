import type { JobNotifier } from '../jobs/notifier.ts';
import type { Logger } from '../platform/logger.ts';
import { QUERY_MS, type Sql } from '../platform/postgres.ts';
import type { BulkEditContext } from './edit-documents.ts';
import { queueHardDelete } from './hard-delete.ts';

/** Open metadata edits without hard delete jobs, which need the search index. */
export function openEdits(context: {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
}): BulkEditContext {
  const { notifier, logger } = context;
  const sql = context.sql.limited({ ms: QUERY_MS.edit });
  return { sql, notifier, logger, queueHardDelete: (request) => queueHardDelete({ sql, notifier, logger }, request) };
}
