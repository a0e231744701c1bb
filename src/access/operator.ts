import { type Caller, SCOPES } from './caller.ts';
import type { Organization } from './schema.ts';

/** Return the name of the command-line operator in the audit log. */
export function operatorActor(osUser: string): string {
  return `operator:${osUser}`;
}

/** Create the caller for the command-line operator, who may do everything within one organization at a time. */
export function operatorCaller(organization: Pick<Organization, 'id' | 'plan'>, osUser: string): Caller {
  return operatorCallerNamed(organization, operatorActor(osUser));
}

/** Create the caller for an operator with a given name in the audit log. */
export function operatorCallerNamed(organization: Pick<Organization, 'id' | 'plan'>, actor: string): Caller {
  return {
    kind: 'operator',
    actor,
    orgId: organization.id,
    plan: organization.plan,
    userId: null,
    role: 'platform_admin',
    department: null,
    scopes: new Set(SCOPES),
    authLevel: 10,
  };
}
