import type { ReadingContext } from '../ingest/each-chunk.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { EditContext } from '../metadata/edit-document.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';

/** Dependencies of vector stores. */
export interface VectorStoreContext {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  /** Plans, which set the storage quotas of organizations. */
  readonly plans: Config['plans'];
  readonly edits: EditContext;
  readonly reading: ReadingContext;
}
