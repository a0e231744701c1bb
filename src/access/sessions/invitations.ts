import { AppError, conflict, notFound } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { inTransaction, isUniqueViolation, type Sql } from '../../platform/postgres.ts';
import { Secret } from '../../platform/secret.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import { recordAudit } from '../audit.ts';
import type { Caller } from '../caller.ts';
import { selectUserFactsByOidc, type UserFacts } from '../credential-store.ts';
import { requireReadersOf } from '../groups/require-readers.ts';
import type { OidcClaims } from '../oidc.ts';
import { DEFAULT_AUTH_LEVEL_BY_ROLE } from '../roles.ts';
import { checkRowLimit } from '../row-limits-store.ts';
import { selectUser } from '../user-store.ts';
import { requireManaged } from '../users.ts';
import {
  bindIdentity,
  deleteInvitation,
  type Invitation,
  insertInvitation,
  insertProvisionedUser,
  selectInvitation,
  selectUnboundUser,
} from './invitation-store.ts';
import { hashLinkToken, isLinkToken, newLinkToken } from './link-token.ts';

const INVITATION_MS = 7 * 24 * 3_600_000;

/** Identity of a person at the OIDC issuer, with the token's groups if known. */
type Identity = Pick<OidcClaims, 'issuer' | 'subject' | 'issuedAtMs'> & Partial<Pick<OidcClaims, 'groups'>>;

export interface InvitationsContext {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'sessions'>;
  /** Organizations by the domain of their people's email addresses, as configured by the operator. */
  readonly emailDomains: Readonly<Record<string, string>>;
  /** True to create users for people of these domains. */
  readonly provisions: boolean;
}

/**
 * Connects people's identities at the OIDC issuer with users. An identity belongs to the installation, so a key of an
 * organization can't claim it. Either the operator connects it, or the person accepts an invitation after signing in at
 * the issuer, or the issuer confirms an email address in a domain that the operator has assigned to the organization.
 */
export class Invitations {
  readonly #sql: Sql;
  readonly #hmacKey: Buffer;
  readonly #emailDomains: Readonly<Record<string, string>>;
  readonly #provisions: boolean;

  constructor({ sql, keyRing, emailDomains, provisions }: InvitationsContext) {
    this.#sql = sql;
    this.#hmacKey = keyRing.sessions;
    this.#emailDomains = emailDomains;
    this.#provisions = provisions;
  }

  /**
   * Invite a user of the caller's organization to choose a password or connect an identity. The link works once, for 7
   * days, and replaces earlier ones.
   *
   * @throws AppError `user_not_found` (404), `exceeds_own_rights`, `scope_missing` or `role_missing` (403),
   *   `identity_exists` (409)
   */
  async create(by: Caller, userRef: string): Promise<{ readonly token: Secret; readonly expiresAt: Date }> {
    const user = await selectUser(this.#sql, by.orgId, userRef);
    if (user === null) throw notFound('user', userRef);
    requireManaged(by, user);
    await requireReadersOf(this.#sql, by, `user:${user.id}`);
    if (user.oidc_subject !== null) {
      throw conflict('this user already signs in at the identity provider', 'identity_exists');
    }
    if (user.has_account) {
      throw conflict('this user already has a password; reset it instead', 'identity_exists');
    }
    const token = newLinkToken();
    const expiresAt = await inTransaction(this.#sql, async (tx) => {
      const { orgId, actor } = by;
      await recordAudit(tx, { orgId, actor, action: 'user.invite', target: user.id });
      const invitation = { orgId, userId: user.id, invitedBy: actor, lifetimeMs: INVITATION_MS };
      return insertInvitation(tx, { ...invitation, hash: this.#hash(token) });
    });
    return { token: new Secret(token), expiresAt };
  }

  /** Find a valid invitation; null if there is none. */
  async find(token: string): Promise<Invitation | null> {
    return isLinkToken(token) ? selectInvitation(this.#sql, this.#hash(token)) : null;
  }

  /** Consume a valid invitation in the transaction that connects its user; null if there is none. */
  async take(tx: Sql, token: string): Promise<Pick<Invitation, 'orgId' | 'userId'> | null> {
    const invitation = isLinkToken(token) ? await selectInvitation(tx, this.#hash(token)) : null;
    if (invitation !== null) await deleteInvitation(tx, this.#hash(token));
    return invitation;
  }

  /**
   * Accept an invitation with an identity just confirmed by the issuer.
   *
   * @throws AppError `invitation_invalid` (401), `identity_exists` (409) if another user has the identity
   */
  async accept(token: string, identity: Identity): Promise<UserFacts> {
    const invitation = await this.find(token);
    if (invitation === null) throw invalidInvitation();
    const user = await this.#connect(invitation, identity, (tx) => deleteInvitation(tx, this.#hash(token)));
    if (user === null) throw invalidInvitation();
    return user;
  }

  /**
   * Connect an identity with the user who has its confirmed email address in the organization of the domain. If there
   * is none, add a member if the settings allow it, otherwise return null.
   *
   * @throws AppError `identity_exists` (409)
   */
  async connectByEmail(email: string, identity: Identity): Promise<UserFacts | null> {
    const address = email.toLowerCase();
    const domain = address.slice(address.lastIndexOf('@') + 1);
    const organization = Object.hasOwn(this.#emailDomains, domain) ? this.#emailDomains[domain] : undefined;
    if (organization === undefined) return null;
    if (this.#provisions) await this.#provision(organization, address);
    const found = await selectUnboundUser(this.#sql, organization, address);
    return found && this.#connect(found, identity, async () => undefined);
  }

  /** Add a member with an email address to an organization, unless the address already has a user there. */
  async #provision(organization: string, email: string): Promise<void> {
    await inTransaction(this.#sql, async (tx) => {
      const user = await insertProvisionedUser(tx, organization, {
        id: newId('usr'),
        email,
        authLevel: DEFAULT_AUTH_LEVEL_BY_ROLE.member,
      });
      if (user === null) return;
      await checkRowLimit(tx, user.orgId, 'users');
      const { orgId, userId } = user;
      await recordAudit(tx, {
        orgId,
        actor: `user:${userId}`,
        action: 'user.provision',
        target: userId,
        detail: { email },
      });
    });
  }

  async #connect(
    user: { readonly orgId: string; readonly userId: string },
    identity: Identity,
    also: (tx: Sql) => Promise<void>,
  ): Promise<UserFacts | null> {
    const { orgId, userId } = user;
    try {
      const isBound = await inTransaction(this.#sql, async (tx) => {
        if (!(await bindIdentity(tx, user, identity))) return false;
        await also(tx);
        const actor = `user:${userId}`;
        await recordAudit(tx, { orgId, actor, action: 'user.connect_identity', target: userId });
        return true;
      });
      return isBound ? selectUserFactsByOidc(this.#sql, identity) : null;
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw conflict('this identity already belongs to another user of this installation', 'identity_exists');
    }
  }

  #hash(token: string): Buffer {
    return hashLinkToken(this.#hmacKey, 'invitation', token);
  }
}

export function invalidInvitation(): AppError {
  return new AppError({
    code: 'invitation_invalid',
    status: 401,
    message: 'the invitation is no longer valid; ask an administrator of your organization for another one',
  });
}
