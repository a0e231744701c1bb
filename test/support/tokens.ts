import { randomBytes } from 'node:crypto';
import type { Role } from '../../src/access/caller.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser } from '../../src/access/users.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';

const HOUR_MS = 3_600_000;

/** Create a token of a new user of organization `default`, or of another existing one. */
export async function makeUserToken(
  { sql, keyRing, access }: Appliance,
  options: { role: Role; authLevel?: number; department?: string; org?: string },
): Promise<string> {
  const { org = 'default', ...user } = options;
  const operator = await access.operator(org);
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  const created = await createUser(sql, operator, { email, ...user });
  return (await createToken(sql, keyRing, operator, { user: created, ttlMs: HOUR_MS })).token.reveal();
}
