import { type Caller, SCOPES } from './caller.ts';
import type { Organization } from './schema.ts';

/** How the audit log names the person at the command line. */
export function operatorActor(osUser: string): string {
  return `operator:${osUser}`;
}

/** The person at the command line of the installation: may do everything, within one organization at a time. */
export function operatorCaller(organization: Pick<Organization, 'id' | 'plan'>, osUser: string): Caller {
  return {
    kind: 'operator',
    actor: operatorActor(osUser),
    orgId: organization.id,
    plan: organization.plan,
    userId: null,
    role: 'platform_admin',
    department: null,
    scopes: new Set(SCOPES),
    authLevel: 10,
  };
}
