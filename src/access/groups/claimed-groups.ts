import { AppError } from '../../platform/errors.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { storeClaimedMemberships } from './group-store.ts';

/** Maximum number of groups of a token. Providers send 150 to 200 by default. */
const CLAIMED_MAX = 1_000;

/**
 * Read the groups that a token names. A token without the claim names none.
 *
 * @throws AppError `groups_claim_invalid` (401)
 */
export function readGroupsClaim(claims: Readonly<Record<string, unknown>>, claim: string): string[] {
  const value = claims[claim];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((each): each is string => typeof each === 'string')) {
    throw refused(`the claim "${claim}" of the token is not a list of texts; change it at the identity provider`);
  }
  if (value.length > CLAIMED_MAX) {
    throw refused(
      `the claim "${claim}" of the token names ${value.length} groups, and at most ${CLAIMED_MAX} are read; ` +
        'let the identity provider send only the groups of this application',
    );
  }
  return [...new Set(value)];
}

function refused(message: string): AppError {
  return new AppError({ code: 'groups_claim_invalid', status: 401, message });
}

/**
 * Add a user to the groups that a token names, and remove it from other groups that an earlier token named. Ignore
 * groups unknown to the organization. Change nothing for a token that isn't newer than the last one.
 * @returns true if the token is the newest one
 */
export async function followGroupsClaim(
  sql: Sql,
  user: { readonly orgId: string; readonly id: string },
  claimed: { readonly groups: readonly string[]; readonly issuedAtMs: number },
): Promise<boolean> {
  return inTransaction(sql, (tx) => storeClaimedMemberships(tx, user, claimed));
}
