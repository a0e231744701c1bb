import { inTransaction, type Sql } from '../platform/postgres.ts';
import { recordAudit } from './audit.ts';
import { selectKeyPrefix, updateKeyPrefix } from './key-store.ts';

/**
 * Let the public ids of new API keys begin with some characters, by which a proxy finds this installation among
 * several. Present keys stay as they are.
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
