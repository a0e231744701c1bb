import { conflict } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';

/** Maximum rows of each kind per organization, and how to make room for another. */
export const ROW_LIMITS = {
  buckets: { rowsMax: 1_000, noun: 'buckets', remedy: 'delete buckets that nobody uses' },
  collections: { rowsMax: 10_000, noun: 'collections', remedy: 'delete a bucket, or divide documents by metadata' },
  users: { rowsMax: 50_000, noun: 'users', remedy: 'ask the operator for another organization' },
  groups: { rowsMax: 10_000, noun: 'groups', remedy: 'delete groups that nobody uses' },
  api_keys: { rowsMax: 10_000, noun: 'valid keys', remedy: 'revoke keys that nobody uses' },
  sources: { rowsMax: 1_000, noun: 'sources', remedy: 'delete sources that nobody uses' },
  channel_configs: { rowsMax: 1_000, noun: 'channel configurations', remedy: 'delete those that nobody uses' },
  webhook_endpoints: { rowsMax: 100, noun: 'webhooks', remedy: 'delete webhooks that nobody uses' },
  assistants: { rowsMax: 1_000, noun: 'assistants', remedy: 'delete assistants that nobody uses' },
  batches: { rowsMax: 1_000, noun: 'unfinished batches', remedy: 'wait until some of them end, or cancel them' },
  workflows: { rowsMax: 1_000, noun: 'workflows', remedy: 'delete workflows that nobody uses' },
} as const;

/**
 * Require that the row which the transaction has added is within the organization's limit. Call this after taking every
 * other lock: it serialises callers until the transaction ends, so that they can't exceed the limit together.
 *
 * @throws AppError `too_many_<table>` (409), whose message says how to make room
 */
export async function checkRowLimit(tx: Sql, orgId: string, table: keyof typeof ROW_LIMITS): Promise<void> {
  const { rowsMax, noun, remedy } = ROW_LIMITS[table];
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`rows of ${table} in ${orgId}`}, 0))`;
  // Ended keys and batches stay listed and don't count; chores bound them.
  const condition =
    table === 'api_keys'
      ? tx`AND (revoked_at IS NULL OR revoked_at > now()) AND (expires_at IS NULL OR expires_at > now())`
      : table === 'batches'
        ? tx`AND ended_at IS NULL`
        : tx``;
  const [row] = await tx`
    SELECT count(*)::int AS rows
    FROM (SELECT 1 FROM ${tx(table)} WHERE org_id = ${orgId} ${condition} LIMIT ${rowsMax + 1}) AS counted`;
  if ((row?.['rows'] as number) <= rowsMax) return;
  throw conflict(`the organization has ${rowsMax} ${noun}, the maximum: ${remedy}`, `too_many_${table}`);
}
