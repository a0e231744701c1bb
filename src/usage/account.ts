import type { Caller, Plan } from '../access/caller.ts';
import type { Axis } from './schema.ts';

/** Account to charge. A missing plan is looked up (1 s cache) if any plan limits the axis. */
export interface Account {
  readonly orgId: string;
  readonly plan?: Plan;
  /** Key or user that sent the request, for usage by key. Absent for internal work. */
  readonly actor?: string;
  readonly grant?: Pick<NonNullable<Caller['grant']>, 'givenBy'>;
  /** Limits of the key that sent the request, or whose holder authorised the client that sent it. */
  readonly limits?: Caller['limits'];
}

/** Account whose quota a call counts against. */
export interface Charge {
  readonly account: Account;
  readonly axis: Axis;
  /** True if the call is internal (search, ingest) instead of a client's. */
  readonly internal?: boolean;
}

/** Return the id of the API key whose quotas an account's requests count against; null for none. */
export function keyIdOf({ actor, grant }: Pick<Account, 'actor' | 'grant'>): string | null {
  const holder = grant?.givenBy ?? actor;
  return holder?.startsWith('key:') ? holder.slice('key:'.length) : null;
}
