import type { Sql } from '../platform/postgres.ts';
import type { Resolved } from './credential-cache.ts';
import { selectApiKeyFacts, selectUserFacts } from './credential-store.ts';
import { callerOfKey, callerOfUser } from './make-caller.ts';
import { operatorCallerNamed } from './operator.ts';
import { selectOrganization } from './organization-store.ts';

/** Key, user or operator that a session or grant acts for. */
export interface Subject {
  readonly orgId: string;
  readonly actor: string;
  readonly keyId: string | null;
  readonly userId: string | null;
  /** Token by which the user signed in, or null. Revoking it ends the session or grant. */
  readonly tokenId: string | null;
  /** Generation of the user's tokens. A new generation ends everything that began before. */
  readonly generation: number;
}

/** Find the caller of a subject with its current rights; null if it is no longer valid. */
export async function callerOfSubject(sql: Sql, subject: Subject): Promise<Resolved | null> {
  const { orgId, actor, keyId, userId } = subject;
  if (keyId !== null) {
    const key = await selectApiKeyFacts(sql, keyId);
    if (!key || key.refused || key.expired) return null;
    return { caller: callerOfKey(key), endsInMs: key.endsInMs };
  }
  if (userId !== null) {
    const user = await selectUserFacts(sql, { ...subject, userId });
    if (!user || user.suspended) return null;
    return { caller: callerOfUser(user), endsInMs: null };
  }
  const organization = await selectOrganization(sql, orgId);
  if (!organization || organization.suspended_at !== null) return null;
  return { caller: operatorCallerNamed(organization, actor), endsInMs: null };
}
