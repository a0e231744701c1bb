import { inTransaction, type Sql } from '../platform/postgres.ts';
import { recordAudit } from './audit.ts';
import { selectKeyPrefix, updateKeyPrefix } from './key-store.ts';

/**
 * Set the prefix of the public ids of new API keys, by which a proxy can route to this installation among several.
 * Existing keys don't change.
 * @param prefix characters of `KEY_PREFIX`; null for none
 */
export async function setKeyPrefix(sql: Sql, actor: string, prefix: string | null): Promise<{ before: string | null }> {
  return inTransaction(sql, async (tx) => {
    const before = await selectKeyPrefix(tx);
    await updateKeyPrefix(tx, prefix);
    const detail = { prefix, before };
    await recordAudit(tx, { orgId: null, actor, action: 'installation.set_key_prefix', target: null, detail });
    return { before };
  });
}
