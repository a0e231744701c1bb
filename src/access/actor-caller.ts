import type { Sql } from '../platform/postgres.ts';
import type { Caller, Scope } from './caller.ts';
import { selectApiKeyFacts, selectChannelGroups, selectUserFactsById } from './credential-store.ts';
import { callerOfKey, callerOfUser } from './make-caller.ts';
import { selectGrant } from './oauth/grant-store.ts';
import { operatorCallerNamed } from './operator.ts';
import { selectOrganization } from './organization-store.ts';
import { callerOfSubject } from './subject.ts';

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

/** Current rights of an actor to read documents. */
export type CurrentReader = Pick<
  Caller,
  'userId' | 'role' | 'department' | 'groups' | 'scopes' | 'authLevel' | 'limits'
>;

/**
 * Find the current rights of an actor that read documents earlier: a caller of `callerOfActor`, a channel, or a client
 * that a person authorised (`grant:<id>`), which reads what the person may.
 * @returns null if the actor is no longer valid
 */
export async function readerOfActor(sql: Sql, orgId: string, actor: string): Promise<CurrentReader | null> {
  const [, kind, id = ''] = /^(grant|channel):(.+)$/.exec(actor) ?? [];
  if (kind === 'grant') {
    const grant = await selectGrant(sql, orgId, id);
    const person = grant && (await callerOfSubject(sql, grant));
    return person && { ...person.caller, role: null };
  }
  if (kind === 'channel') {
    const groups = await selectChannelGroups(sql, orgId, id);
    const own = { userId: null, role: null, department: null, scopes: new Set<Scope>(['search']), authLevel: 10 };
    return groups && { ...own, groups };
  }
  return callerOfActor(sql, orgId, actor);
}
