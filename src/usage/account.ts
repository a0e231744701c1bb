import type { Caller, Plan } from '../access/caller.ts';
import type { Axis } from './schema.ts';

/** Account to charge. A missing plan is looked up (1 s cache) if any plan limits the axis. */
export interface Account {
  readonly orgId: string;
  readonly plan?: Plan;
  /** Key or user who sent the request, for the usage by key. Absent for work of the service. */
  readonly actor?: string;
  readonly grant?: Pick<NonNullable<Caller['grant']>, 'givenBy'>;
  /** Limits of the key who sent the request, or whose holder gave access to the client who did. */
  readonly limits?: Caller['limits'];
}

/** Account whose quota a call counts against. */
export interface Charge {
  readonly account: Account;
  readonly axis: Axis;
  /** True if the service itself makes the call (search, ingest), not a client. */
  readonly internal?: boolean;
}

/** Return the id of the API key whose quotas requests of an account count against; null for none. */
export function keyIdOf({ actor, grant }: Pick<Account, 'actor' | 'grant'>): string | null {
  const holder = grant?.givenBy ?? actor;
  return holder?.startsWith('key:') ? holder.slice('key:'.length) : null;
}
