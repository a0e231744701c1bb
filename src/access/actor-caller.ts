import type { Sql } from '../platform/postgres.ts';
import type { Caller } from './caller.ts';
import { selectApiKeyFacts, selectUserFactsById } from './credential-store.ts';
import { callerOfKey, callerOfUser } from './make-caller.ts';
import { operatorCallerNamed } from './operator.ts';
import { selectOrganization } from './organization-store.ts';

/**
 * Find the caller for work that starts without a request: a key, a user or the operator, with its current rights.
 * @returns null if the actor is no longer valid, or is another kind of caller
 */
export async function callerOfActor(sql: Sql, orgId: string, actor: string): Promise<Caller | null> {
  const [, kind, id = ''] = /^(key|user|operator):(.+)$/.exec(actor) ?? [];
  if (kind === 'key') {
    const key = await selectApiKeyFacts(sql, id);
    return !key || key.orgId !== orgId || key.refused || key.expired ? null : callerOfKey(key);
  }
  if (kind === 'user') {
    const user = await selectUserFactsById(sql, orgId, id);
    return !user || user.suspended ? null : callerOfUser(user);
  }
  if (kind !== 'operator') return null;
  const organization = await selectOrganization(sql, orgId);
  if (!organization || organization.suspended_at !== null) return null;
  return operatorCallerNamed(organization, actor);
}
