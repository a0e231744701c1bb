import { contextOf as idempotencyContextOf } from '../access/idempotency.ts';
import { pepperContextOf } from '../access/key-pepper.ts';
import { contextOf as channelContextOf } from '../channels/configs.ts';
import { contextOf as laterContextOf } from '../channels/later/later-sender.ts';
import { contextOf as endpointContextOf } from '../webhooks/secrets.ts';
import { secretContextOf } from '../workflows/triggers.ts';

/** Encrypted columns of a table. */
interface SealedColumns {
  readonly columns: readonly string[];
  /** Key columns, as read by `contextOf`. */
  readonly key: readonly string[];
  /** Return the record identity that the value's encryption is bound to. */
  readonly contextOf: (row: Readonly<Record<string, string | Buffer>>) => string;
}

/** Table whose rows belong to one organization and move with it. */
export interface MovedTable {
  readonly name: string;
  /**
   * Column that refers to the organization, or to a row of another listed table that belongs to it. Default: `org_id`.
   */
  readonly owner?: { readonly column: string; readonly table: string; readonly key: string };
  /** Columns that have no meaning outside the source. The target creates new values. */
  readonly omitted?: readonly string[];
  /** Column to order exported rows by, so that the target creates new values in the same order. */
  readonly orderedBy?: string;
  readonly sealed?: SealedColumns;
}

const ofBucket = { column: 'bucket_id', table: 'buckets', key: 'id' } as const;
const ofJob = { column: 'job_id', table: 'jobs', key: 'id' } as const;
const ofBatch = { column: 'batch_id', table: 'batches', key: 'id' } as const;
const ofChannel = { column: 'config_id', table: 'channel_configs', key: 'id' } as const;
const ofWorkflow = { column: 'workflow_id', table: 'workflows', key: 'id' } as const;

type Key = { readonly orgId: string; readonly id: string };
const idOf = (row: Readonly<Record<string, string | Buffer>>): Key => ({
  orgId: String(row['org_id']),
  id: String(row['id']),
});

/**
 * Tables that move while the source is read-only, in an order that satisfies their references. Webhook endpoints and
 * workflow triggers come after the sources of events, so that imported rows trigger none.
 */
export const MOVED: readonly MovedTable[] = [
  { name: 'organizations', owner: { column: 'id', table: 'organizations', key: 'id' } },
  { name: 'users' },
  {
    name: 'api_keys',
    sealed: {
      columns: ['sealed_pepper'],
      key: ['org_id', 'id'],
      contextOf: (row) => pepperContextOf(String(row['org_id'])),
    },
  },
  { name: 'groups' },
  { name: 'group_members' },
  { name: 'revoked_tokens' },
  { name: 'routing' },
  { name: 'buckets' },
  { name: 'collections' },
  { name: 'documents' },
  { name: 'generations' },
  { name: 'index_tables', owner: ofBucket },
  { name: 'bucket_synonyms' },
  { name: 'search_judgements' },
  { name: 'jobs' },
  { name: 'bulk_jobs', owner: ofJob },
  { name: 'bulk_chunks', owner: ofJob },
  { name: 'files' },
  { name: 'batches' },
  { name: 'batch_groups', owner: ofBatch },
  { name: 'batch_chunks', owner: ofBatch },
  { name: 'vector_stores', owner: ofBucket },
  { name: 'vector_store_files', owner: ofBucket },
  { name: 'vector_store_batches', owner: ofBucket },
  { name: 'sources' },
  { name: 'source_entries' },
  { name: 'source_states' },
  { name: 'source_faults' },
  { name: 'usage_reservations' },
  { name: 'workflows' },
  { name: 'workflow_versions', owner: ofWorkflow },
  { name: 'workflow_runs' },
  { name: 'workflow_run_blocks', owner: { column: 'run_id', table: 'workflow_runs', key: 'id' } },
  {
    name: 'workflow_triggers',
    sealed: {
      columns: ['sealed_secret'],
      key: ['org_id', 'id'],
      contextOf: (row) => secretContextOf(idOf(row)),
    },
  },
  { name: 'workflow_starts' },
  { name: 'assistants' },
  {
    name: 'channel_configs',
    sealed: {
      columns: ['sealed_config'],
      key: ['org_id', 'id'],
      contextOf: (row) => channelContextOf(String(row['org_id']), String(row['id'])),
    },
  },
  {
    name: 'webhook_endpoints',
    sealed: {
      columns: ['sealed_secret', 'sealed_previous'],
      key: ['org_id', 'id'],
      contextOf: (row) => endpointContextOf(idOf(row)),
    },
  },
  { name: 'audit_log', omitted: ['id'], orderedBy: 'id' },
];

/**
 * Tables that searches, embedding and channels keep writing during the move. They move when the source stops serving
 * the organization. This must take only seconds, so each table must stay small.
 */
export const MOVED_LAST: readonly MovedTable[] = [
  { name: 'usage_counters' },
  { name: 'usage_key_counters' },
  { name: 'usage_ledger' },
  { name: 'usage_by_actor' },
  { name: 'search_counts' },
  { name: 'search_log' },
  { name: 'answers' },
  { name: 'channel_calls' },
  { name: 'channel_deliveries' },
  { name: 'channel_replies', owner: ofChannel },
  {
    name: 'channel_later_replies',
    sealed: {
      columns: ['sealed'],
      key: ['org_id', 'config_id', 'digest'],
      contextOf: (row) =>
        laterContextOf({
          orgId: String(row['org_id']),
          configId: String(row['config_id']),
          digest: row['digest'] as Buffer,
        }),
    },
  },
  { name: 'channel_notifications' },
  { name: 'channel_questions' },
  { name: 'channel_unanswered' },
  { name: 'webhook_deliveries', omitted: ['seq'], orderedBy: 'seq' },
  {
    name: 'idempotency_keys',
    sealed: {
      columns: ['sealed_body'],
      key: ['org_id', 'key'],
      contextOf: (row) => idempotencyContextOf({ orgId: String(row['org_id']), key: String(row['key']) }),
    },
  },
];

/** Tables whose rows don't move, with the reason. */
export const ENDED: Readonly<Record<string, string>> = {
  sessions: 'people sign in again',
  sign_in_links: 'they are valid for minutes',
  invitations: 'their links are signed by the source; invite again',
  password_resets: 'the account is one of the source',
  oauth_grants: 'their tokens are signed by the source; clients ask for access again',
  oauth_tokens: 'as oauth_grants',
  reprojections: 'runs in progress start again',
  retired_index_tables: 'index tables that the source drops',
  document_changes: 'transactions of the database of the source',
  organization_imports: 'an earlier arrival at the source',
};

/** Tables that belong to the installation. */
export const OF_INSTALLATION: readonly string[] = [
  'accounts',
  'backups',
  'document_change_log',
  'installation',
  'local_models',
  'model_calibrations',
  'model_installations',
  'oauth_clients',
  'passkeys',
  'projection_maps',
  'projection_spaces',
  'reaper_runs',
  'restores',
  'schema_compatibility',
  'schema_migrations',
  'server_run',
  'usage_flushes',
  'used_sign_ins',
  'vendors',
  'workers',
];
