import { AppError, conflict, forbidden, invalidRequest, notFound } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { inTransaction, isUniqueViolation, type Sql } from '../../platform/postgres.ts';
import { Secret } from '../../platform/secret.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import { recordAudit } from '../audit.ts';
import { type Caller, hasScope } from '../caller.ts';
import { wrongPassword } from '../credential-errors.ts';
import type { UserFacts } from '../credential-store.ts';
import { FailedLogins } from '../failed-logins.ts';
import { requireReadersOf } from '../groups/require-readers.ts';
import { type Invitations, invalidInvitation } from '../sessions/invitations.ts';
import { hashLinkToken, isLinkToken, newLinkToken } from '../sessions/link-token.ts';
import { selectUser } from '../user-store.ts';
import { requireManaged } from '../users.ts';
import {
  type Account,
  belongsElsewhere,
  bindAccount,
  deletePasswordResets,
  deleteSessionsOfAccount,
  deleteUnusedAccounts,
  hasAccounts,
  insertAccount,
  insertPasswordReset,
  type Membership,
  selectAccountOfUser,
  selectAccountsByEmail,
  selectMember,
  selectMemberships,
  selectPasswordReset,
  selectUserOfAccount,
  takePasswordReset,
  updatePassword,
} from './account-store.ts';
import { deletePasskeys } from './passkey-store.ts';
import { Passwords } from './passwords.ts';

const RESET_MS = 24 * 3_600_000;
/** Wrong passwords for one email address per minute, after which each further attempt is delayed. */
const WRONG_PASSWORDS_PER_MINUTE = 10;

/**
 * Accounts of people who sign in with a password or a passkey. Accounts are created by invitation. An account has one
 * user in each of its organizations, and a session acts for one of them. Email addresses are unconfirmed, so an address
 * may have several accounts. The password decides which one signs in. Otherwise an administrator could claim the
 * address of a person in another organization.
 */
export class Accounts {
  readonly #sql: Sql;
  readonly #hmacKey: Buffer;
  readonly #invitations: Invitations;
  readonly #passwords = new Passwords();
  readonly #wrongPasswords = new FailedLogins({ perMinute: WRONG_PASSWORDS_PER_MINUTE });

  constructor(context: { sql: Sql; keyRing: Pick<KeyRing, 'sessions'>; invitations: Invitations }) {
    this.#sql = context.sql;
    this.#hmacKey = context.keyRing.sessions;
    this.#invitations = context.invitations;
  }

  /** Return true if any account has a password. */
  exist(): Promise<boolean> {
    return hasAccounts(this.#sql);
  }

  /**
   * Authenticate an email address and a password, and return the user.
   *
   * @param signal ends the delay after too many wrong passwords
   * @throws AppError `invalid_credentials` (401), `too_many_failed_logins` or `too_many_sign_ins` (429)
   */
  async signIn(email: string, password: string, signal: AbortSignal): Promise<UserFacts> {
    const address = email.trim().toLowerCase();
    const accounts = await selectAccountsByEmail(this.#sql, address);
    if (accounts.length === 0) await this.#passwords.verifyNothing(password);
    for (const { id, passwordHash } of accounts) {
      const isRight = await this.#passwords.verify(passwordHash, password);
      const user = isRight ? await selectUserOfAccount(this.#sql, id) : null;
      if (user !== null) return user;
    }
    await this.#wrongPasswords.brake([address], () => signal);
    throw wrongPassword();
  }

  /**
   * Accept an invitation by creating an account with this password.
   *
   * @throws AppError `invitation_invalid` (401), `password_weak` (400)
   */
  async acceptInvitation(token: string, password: string): Promise<UserFacts> {
    const invitation = await this.#invitations.find(token);
    if (invitation === null) throw invalidInvitation();
    const { email } = invitation;
    const passwordHash = await this.#passwords.hash(password, email);
    const id = newId('acc');
    await inTransaction(this.#sql, async (tx) => {
      await insertAccount(tx, { id, email, passwordHash });
      await this.#bind(tx, token, id);
    });
    return this.#memberOf(id, invitation.orgId);
  }

  /**
   * Accept an invitation with the session's account, which thereby joins another organization.
   *
   * @throws AppError `invitation_invalid` (401), `already_member` (409)
   */
  async join(account: Account, token: string): Promise<UserFacts> {
    const invitation = await this.#invitations.find(token);
    if (invitation === null) throw invalidInvitation();
    try {
      await inTransaction(this.#sql, async (tx) => {
        await this.#bind(tx, token, account.id);
        // An administrator of the former organization must not gain access to this one through an earlier reset link.
        await deletePasswordResets(tx, account.id);
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw conflict('your account already belongs to this organization', 'already_member');
    }
    return this.#memberOf(account.id, invitation.orgId);
  }

  /**
   * Return the account of a caller.
   *
   * @throws AppError `account_missing` (403) for a caller without an account
   */
  async of({ kind, orgId, userId }: Caller): Promise<Account> {
    const account = kind === 'user' && userId !== null ? await selectAccountOfUser(this.#sql, orgId, userId) : null;
    if (account === null) throw noAccount();
    return account;
  }

  membershipsOf(account: Account): Promise<Membership[]> {
    return selectMemberships(this.#sql, account.id);
  }

  /** Find the user of an account in another of its organizations. */
  async memberIn(account: Account, organization: string): Promise<UserFacts> {
    const memberships = await this.membershipsOf(account);
    const found = memberships.find((each) => each.organization === organization || each.orgId === organization);
    if (found === undefined) throw notFound('organization', organization);
    return this.#memberOf(account.id, found.orgId);
  }

  /**
   * Change the password of an account, and end all its sessions.
   *
   * @throws AppError `password_wrong` (400) for a wrong current password, `password_weak` (400)
   */
  async changePassword(by: Caller, current: string, next: string, signal: AbortSignal): Promise<UserFacts> {
    const { id, email, passwordHash: currentHash } = await this.of(by);
    if (!(await this.#passwords.verify(currentHash, current))) {
      await this.#wrongPasswords.brake([email], () => signal);
      throw invalidRequest('the current password is not right', 'current_password', 'password_wrong');
    }
    const passwordHash = await this.#passwords.hash(next, email);
    await inTransaction(this.#sql, async (tx) => {
      await updatePassword(tx, id, passwordHash);
      await deleteSessionsOfAccount(tx, id);
      const { orgId, actor } = by;
      await recordAudit(tx, { orgId, actor, action: 'account.change_password', target: by.userId });
    });
    return this.#memberOf(id, by.orgId);
  }

  /**
   * Create a password reset link. An administrator can do so only for an account that belongs to no other organization,
   * since the link gives access to all of them. The operator can do so for every account.
   *
   * @throws AppError `user_not_found` (404), `exceeds_own_rights`, `scope_missing` or `role_missing` (403),
   *   `account_missing` or `account_shared` (409)
   */
  async createReset(by: Caller, userRef: string): Promise<{ readonly token: Secret; readonly expiresAt: Date }> {
    const user = await selectUser(this.#sql, by.orgId, userRef);
    if (user === null) throw notFound('user', userRef);
    requireManaged(by, user);
    await requireReadersOf(this.#sql, by, `user:${user.id}`);
    const account = await selectAccountOfUser(this.#sql, by.orgId, user.id);
    if (account === null) throw conflict('this user has no password yet; invite the user instead', 'account_missing');
    if (!hasScope(by, 'platform_admin') && (await belongsElsewhere(this.#sql, account.id, by.orgId))) {
      const message = 'this person also belongs to another organization; only the operator can reset the password';
      throw conflict(message, 'account_shared');
    }
    const token = newLinkToken();
    const expiresAt = await inTransaction(this.#sql, async (tx) => {
      const { orgId, actor } = by;
      await recordAudit(tx, { orgId, actor, action: 'user.reset_password', target: user.id });
      return insertPasswordReset(tx, { hash: this.#hash(token), accountId: account.id, orgId, lifetimeMs: RESET_MS });
    });
    return { token: new Secret(token), expiresAt };
  }

  /**
   * Set a new password with a reset link. End all sessions and delete all passkeys of the account.
   *
   * @throws AppError `reset_invalid` (401), `password_weak` (400)
   */
  async reset(token: string, password: string): Promise<UserFacts> {
    const hash = this.#hash(token);
    const account = isLinkToken(token) ? await selectPasswordReset(this.#sql, hash) : null;
    if (account === null) throw invalidReset();
    const passwordHash = await this.#passwords.hash(password, account.email);
    return inTransaction(this.#sql, async (tx) => {
      if (!(await takePasswordReset(tx, hash))) throw invalidReset();
      await updatePassword(tx, account.id, passwordHash);
      await deletePasskeys(tx, account.id);
      await deleteSessionsOfAccount(tx, account.id);
      const user = await selectUserOfAccount(tx, account.id);
      if (user === null) throw invalidReset();
      const actor = `user:${user.id}`;
      await recordAudit(tx, { orgId: user.orgId, actor, action: 'account.reset_password', target: user.id });
      return user;
    });
  }

  /** Delete accounts without users and expired links. */
  sweep(): Promise<void> {
    return deleteUnusedAccounts(this.#sql);
  }

  async #bind(tx: Sql, token: string, accountId: string): Promise<void> {
    const user = await this.#invitations.take(tx, token);
    if (user === null || !(await bindAccount(tx, user, accountId))) throw invalidInvitation();
    const { orgId, userId } = user;
    await recordAudit(tx, { orgId, actor: `user:${userId}`, action: 'user.connect_account', target: userId });
  }

  async #memberOf(accountId: string, orgId: string): Promise<UserFacts> {
    const user = await selectMember(this.#sql, accountId, orgId);
    if (user === null) throw wrongPassword();
    return user;
  }

  #hash(token: string): Buffer {
    return hashLinkToken(this.#hmacKey, 'password-reset', token);
  }
}

function noAccount(): AppError {
  return forbidden('sign in to the console with your password or passkey first', 'account_missing');
}

function invalidReset(): AppError {
  return new AppError({
    code: 'reset_invalid',
    status: 401,
    message: 'the link is no longer valid; ask an administrator of your organization for another one',
  });
}
