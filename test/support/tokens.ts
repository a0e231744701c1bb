import { randomBytes } from 'node:crypto';
import type { Role } from '../../src/access/caller.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser } from '../../src/access/users.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';

const HOUR_MS = 3_600_000;

/** A token of a new user of organization `default`, or of another one that there is. */
export async function makeUserToken(
  { sql, keyRing, access }: Appliance,
  options: { role: Role; authLevel?: number; department?: string; org?: string },
): Promise<string> {
  const { org = 'default', ...user } = options;
  const by = await access.operator(org);
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  const created = await createUser(sql, by, { email, ...user });
  return (await createToken(sql, keyRing, by, { user: created, ttlMs: HOUR_MS })).token.reveal();
}
