import type { Sql } from '../platform/postgres.ts';
import { readerOfActor } from './actor-caller.ts';
import type { Caller, Plan } from './caller.ts';
import type { KeyLimits } from './key-limits.ts';

/** Account of a caller that usage is charged to. */
export interface ActorAccount extends Pick<Caller, 'orgId' | 'plan' | 'actor'> {
  readonly grant?: { readonly givenBy: string };
  readonly limits?: KeyLimits;
}

/**
 * Find the account of an actor whose work outlives its request, with the current plan and limits.
 * @returns null if the actor is no longer valid, as for `readerOfActor`
 */
export async function findActorAccount(sql: Sql, orgId: string, actor: string): Promise<ActorAccount | null> {
  if ((await readerOfActor(sql, orgId, actor)) === null) return null;
  const [row] = await sql<{ plan: Plan; given_by: string | null; limits: KeyLimits | null }[]>`
    SELECT o.plan, g.actor AS given_by, k.limits FROM organizations o
    LEFT JOIN oauth_grants g ON g.org_id = o.id AND 'grant:' || g.id = ${actor}
    LEFT JOIN api_keys k ON k.org_id = o.id AND 'key:' || k.id = coalesce(g.actor, ${actor})
    WHERE o.id = ${orgId}`;
  if (!row) return null;
  const { plan, given_by: givenBy, limits } = row;
  return {
    orgId,
    plan,
    actor,
    ...(givenBy === null ? {} : { grant: { givenBy } }),
    ...(limits === null ? {} : { limits }),
  };
}
