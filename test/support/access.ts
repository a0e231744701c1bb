import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import type { Caller, Plan } from '../../src/access/caller.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import { operatorCaller } from '../../src/access/operator.ts';
import { createOrganization } from '../../src/access/organizations.ts';
import { type CallerResolver, openCallerResolver } from '../../src/access/resolve-caller.ts';
import type { Organization } from '../../src/access/schema.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { Secret } from '../../src/platform/secret.ts';
import { deriveKeyRing, type KeyRing } from '../../src/platform/secret-key.ts';

export function makeKeyRing(): KeyRing {
  return deriveKeyRing(new Secret(randomBytes(32).toString('base64url')));
}

/** Open a resolver that caches nothing, so that it sees every change. */
export function makeResolver(sql: Sql, keyRing: KeyRing): CallerResolver {
  return openCallerResolver({ sql, keyRing, oidc: null, oauth: null, logger: pino({ level: 'silent' }), cacheMs: 0 });
}

/**
 * Create an organization with a key that may do everything. `caller` is the caller of that key, `operator` is the
 * caller of the command line.
 */
export async function makeOrg(
  sql: Sql,
  keyRing: KeyRing,
  options: { plan?: Plan; name?: string } = {},
): Promise<{ org: Organization; caller: Caller; operator: Caller; key: Secret }> {
  const { plan = 'enterprise', name = `org-${randomBytes(6).toString('hex')}` } = options;
  const org = await createOrganization(sql, 'operator:test', { name, plan });
  const operator = operatorCaller(org, 'test');
  const { key } = await createKey(sql, keyRing, operator, { name: 'all', scopes: [...SCOPES], authLevel: 10 });
  const caller = await makeResolver(sql, keyRing).resolve(`Bearer ${key.reveal()}`);
  return { org, caller, operator, key };
}
