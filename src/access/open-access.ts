import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import { osUserName } from '../platform/os-user.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { Accounts } from './accounts/accounts.ts';
import { Passkeys } from './accounts/passkeys.ts';
import { sweepAuditLog } from './audit.ts';
import { adminKeyFile, bootstrap } from './bootstrap.ts';
import type { Caller } from './caller.ts';
import { sweepIdempotencyKeys } from './idempotency.ts';
import { OAuth } from './oauth/oauth.ts';
import { operatorActor } from './operator.ts';
import { findFirstOrganization, selectFirstStart } from './organization-store.ts';
import { createOrganization } from './organizations.ts';
import { type CallerResolver, openCallerResolver } from './resolve-caller.ts';
import type { NewOrganization, Organization } from './schema.ts';
import { checkSecretKey } from './secret-key-check.ts';
import { Invitations } from './sessions/invitations.ts';
import { type OidcSignIn, openOidcSignIn } from './sessions/oidc-sign-in.ts';
import { Sessions } from './sessions/sessions.ts';

/** Organizations, and the callers who act for them. */
export interface Access {
  readonly callers: CallerResolver;
  readonly sessions: Sessions;
  /** OIDC sign-in of people; null if not configured. */
  readonly oidcSignIn: OidcSignIn | null;
  readonly invitations: Invitations;
  readonly accounts: Accounts;
  /** Authorization server of the tool server. */
  readonly oauth: OAuth;
  readonly passkeys: Passkeys;
  /** File that has contained the admin key since the first start. */
  readonly adminKeyFile: string;
  /** True if this start set up the installation. */
  readonly isNew: boolean;
  /** Id of the installation: the id of its first organization. */
  readonly installationId: string;
  /** Name of the command-line operator in the audit log. */
  readonly operatorActor: string;
  /**
   * Return the command-line operator as a caller for an organization (name or id).
   * @param osUser operating system user of the operator; by default this process's user
   */
  operator(organization: string, osUser?: string): Promise<Caller>;
  /** Create an organization with its bucket `default`. `by` is its creator, by default the command-line operator. */
  createOrganization(input: NewOrganization, by?: string): Promise<Organization>;
  readonly chores: (everyMs: number) => readonly Chore[];
}

export interface AccessContext {
  readonly config: Pick<Config, 'console' | 'dataDir' | 'oauth' | 'oidc' | 'retention'>;
  readonly sql: Sql;
  readonly keyRing: KeyRing;
  readonly logger: Logger;
  /** Callback in the transaction that creates an organization. */
  readonly createDefaultBucket: (sql: Sql, orgId: string) => Promise<void>;
}

/**
 * Open the records of organizations, users and keys. On an empty database, create organization `default` and the admin
 * key.
 *
 * @throws AppError `secret_key_mismatch`, `admin_key_not_written` (500)
 */
export async function openAccess(context: AccessContext): Promise<Access> {
  const { config, sql, keyRing, logger, createDefaultBucket } = context;
  const { dataDir } = config;
  const { secretKeyCheck, organizationId } = await selectFirstStart(sql);
  await checkSecretKey(sql, keyRing, secretKeyCheck);
  const isNew = organizationId === null && (await bootstrap(sql, { dataDir, keyRing, createDefaultBucket })).created;
  const oauth = new OAuth(sql, keyRing, config.oauth);
  const callers = openCallerResolver({ sql, keyRing, oidc: config.oidc, oauth, logger });
  const sessions = new Sessions({ sql, keyRing, callers, settings: config.console });
  const invitations = new Invitations({
    sql,
    keyRing,
    emailDomains: config.oidc?.emailDomains ?? {},
    provisions: config.oidc?.provision ?? false,
  });
  const accounts = new Accounts({ sql, keyRing, invitations });
  const actor = operatorActor(osUserName());
  return {
    callers,
    sessions,
    oidcSignIn: openOidcSignIn({ sql, keyRing, oidc: config.oidc, invitations }),
    invitations,
    accounts,
    oauth,
    passkeys: new Passkeys({ sql, keyRing }),
    adminKeyFile: adminKeyFile(dataDir),
    isNew,
    installationId: organizationId ?? (await findFirstOrganization(sql)),
    operatorActor: actor,
    operator: (organization, osUser) => callers.resolveOperator(organization, osUser),
    createOrganization: (input, by = actor) =>
      inTransaction(sql, async (tx) => {
        const organization = await createOrganization(tx, by, input);
        await createDefaultBucket(tx, organization.id);
        return organization;
      }),
    chores: (everyMs) => [
      { name: 'removal of old idempotency keys', everyMs, run: async () => void (await sweepIdempotencyKeys(sql)) },
      { name: 'removal of ended sessions', everyMs, run: () => sessions.sweep() },
      { name: 'removal of ended access of clients', everyMs, run: () => oauth.sweep() },
      { name: 'removal of unused accounts', everyMs, run: () => accounts.sweep() },
      {
        name: 'removal of old audit entries',
        everyMs,
        run: async (signal) => void (await sweepAuditLog(sql, config.retention.auditMs, signal)),
      },
    ],
  };
}
