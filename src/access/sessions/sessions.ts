import type { SessionSettings } from '../../platform/console-settings.ts';
import { newId } from '../../platform/ids.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { Secret } from '../../platform/secret.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import { isSameHash } from '../api-key-format.ts';
import { recordAudit } from '../audit.ts';
import type { Caller } from '../caller.ts';
import { type CredentialCache, openCredentialCache, type Resolved } from '../credential-cache.ts';
import { invalidCredentials, sessionEnded } from '../credential-errors.ts';
import type { UserFacts } from '../credential-store.ts';
import { callerOfKey, callerOfUser } from '../make-caller.ts';
import { operatorCallerNamed } from '../operator.ts';
import { selectOrganization } from '../organization-store.ts';
import type { CallerResolver } from '../resolve-caller.ts';
import { callerOfSubject, type Subject } from '../subject.ts';
import { deleteExpiredSignIns } from './invitation-store.ts';
import { hashLinkToken, isLinkToken, newLinkToken } from './link-token.ts';
import {
  deleteEndedSessions,
  deleteOldestSessions,
  deleteSession,
  deleteSessionsOf,
  insertSession,
  insertSignInLink,
  type LiveSession,
  type StoredSession,
  selectSession,
  takeSignInLink,
  updateSessionUse,
} from './session-store.ts';

/** Maximum number of concurrent sessions of one key, user or operator. Beyond it, the oldest ends. */
const SESSIONS_OF_ONE_MAX = 20;

/** Fields of a session for neither a key nor a user. */
const NOBODY = { keyId: null, userId: null, tokenId: null, generation: 0, endsAtMs: null, isOfAccount: false };

/** Maximum lifetime of an account's session, even if used. Browsers don't keep cookies longer. */
const ACCOUNT_SESSION_MS = 365 * 24 * 3_600_000;

/** New session. Only the browser's cookie contains its id. */
export interface StartedSession {
  readonly id: Secret;
  readonly caller: Caller;
  readonly csrfToken: string;
  readonly expiresAt: Date;
  /** Idle time after which it ends. */
  readonly idleMs: number;
}

type NewSession = Omit<StoredSession, 'id'> & {
  readonly caller: Caller;
  readonly endsAtMs: number | null;
};

export interface SessionsContext {
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'sessions'>;
  readonly callers: Pick<CallerResolver, 'verify'>;
  readonly settings: SessionSettings;
  /** Time to cache a successful look-up, short enough for the end of a session to take effect within 1 s. */
  readonly cacheMs?: number;
}

/** Sessions of browsers, which act for a key, a user or the operator. */
export class Sessions {
  readonly #sql: Sql;
  readonly #hmacKey: Buffer;
  readonly #callers: Pick<CallerResolver, 'verify'>;
  readonly #settings: SessionSettings;
  readonly #cache: CredentialCache;

  constructor({ sql, keyRing, callers, settings, cacheMs = 500 }: SessionsContext) {
    this.#sql = sql;
    this.#hmacKey = keyRing.sessions;
    this.#callers = callers;
    this.#settings = settings;
    this.#cache = openCredentialCache({ cacheMs, cacheEntriesMax: 10_000 });
  }

  /** Start a session with an API key or a user token. @throws AppError of `CallerResolver.verify` */
  async signIn(credential: string): Promise<StartedSession> {
    const verified = await this.#callers.verify(credential);
    if ('user' in verified) return this.#startForUser(verified.user, verified.tokenId, verified.expiresAtMs);
    const { key } = verified;
    const caller = callerOfKey(key);
    return this.#start({ ...NOBODY, caller, orgId: key.orgId, actor: caller.actor, keyId: key.id });
  }

  /** Start a session for a user whom an OIDC issuer has identified. */
  async signInUser(user: UserFacts): Promise<StartedSession> {
    return this.#startForUser(user, null, null);
  }

  /** Start a session for a user who has signed in with a password or a passkey. */
  async signInAccount(user: UserFacts): Promise<StartedSession> {
    return this.#startForUser(user, null, null, true);
  }

  /**
   * Start a session with the token of a one-time link, and invalidate the link.
   *
   * @throws AppError `invalid_credentials` (401)
   */
  async signInByLink(token: string): Promise<StartedSession> {
    if (!isLinkToken(token)) throw invalidCredentials();
    const link = await takeSignInLink(this.#sql, this.#hmac('link', token));
    const organization = link && (await selectOrganization(this.#sql, link.orgId));
    if (!link || !organization || organization.suspended_at !== null) throw invalidCredentials();
    return this.#start({ ...NOBODY, ...link, caller: operatorCallerNamed(organization, link.actor) });
  }

  /** Create a one-time link for the command-line operator, as the caller for an organization. */
  async createLink({ orgId, actor }: Caller): Promise<{ readonly token: Secret; readonly expiresAt: Date }> {
    const token = newLinkToken();
    const expiresAt = await inTransaction(this.#sql, async (tx) => {
      await recordAudit(tx, { orgId, actor, action: 'sign_in_link.create', target: null });
      const { signInLinkMs: lifetimeMs } = this.#settings;
      return insertSignInLink(tx, { hash: this.#hmac('link', token), orgId, actor, lifetimeMs });
    });
    return { token: new Secret(token), expiresAt };
  }

  /**
   * Resolve the id of a session to its caller, with the current rights of the key or user.
   *
   * @param options.isUse false for an uncached check that doesn't keep the session alive
   * @throws AppError `session_ended` (401)
   */
  async resolve(id: string, { isUse = true }: { readonly isUse?: boolean } = {}): Promise<Caller> {
    if (!isLinkToken(id)) throw sessionEnded();
    const hash = this.#hmac('id', id);
    if (!isUse) return (await this.#lookUp(hash, false)).caller;
    const cacheKey = hash.toString('base64');
    return this.#cache.get(cacheKey) ?? this.#cache.load(cacheKey, () => this.#lookUp(hash, true));
  }

  /** Return the end of a live session, and its maximum idle time. @throws AppError `session_ended` (401) */
  async limitsOf(id: string): Promise<Pick<StartedSession, 'expiresAt' | 'idleMs'>> {
    const { expiresAt, isOfAccount } = await this.#select(this.#hmac('id', id));
    return { expiresAt, idleMs: this.#idleMsOf(isOfAccount) };
  }

  /** Return true for a live session that began with a password or a passkey. @throws AppError `session_ended` (401) */
  async isOfAccount(id: string): Promise<boolean> {
    return (await this.#select(this.#hmac('id', id))).isOfAccount;
  }

  /** Return the key, user or operator of a live session. @throws AppError `session_ended` (401) */
  async subjectOf(id: string): Promise<Subject> {
    return this.#select(this.#hmac('id', id));
  }

  csrfTokenOf(id: string): string {
    return this.#hmac('csrf', id).toString('base64url');
  }

  /** Compare a CSRF token with that of the session, in constant time. */
  isCsrfToken(id: string, presented: string): boolean {
    return isSameHash(this.#hmac('csrf', id), Buffer.from(presented, 'base64url'));
  }

  /** End a session. The other processes refuse it within 1 s. */
  async signOut(id: string): Promise<void> {
    const hash = this.#hmac('id', id);
    await inTransaction(this.#sql, async (tx) => {
      const ended = await deleteSession(tx, hash);
      if (!ended) return;
      const { orgId, actor } = ended;
      await recordAudit(tx, { orgId, actor, action: 'session.end', target: ended.id });
    });
    this.#cache.forget(hash.toString('base64'));
  }

  /** End all sessions of a caller. The other processes refuse them within 1 s. */
  async signOutEverywhere({ orgId, actor }: Caller): Promise<void> {
    await inTransaction(this.#sql, async (tx) => {
      const sessions = await deleteSessionsOf(tx, orgId, actor);
      await recordAudit(tx, { orgId, actor, action: 'session.end_all', target: null, detail: { sessions } });
    });
    this.#cache.clear();
  }

  /** Delete ended sessions, expired links and invitations. */
  async sweep(): Promise<void> {
    await deleteEndedSessions(this.#sql, this.#settings);
    await deleteExpiredSignIns(this.#sql);
  }

  #hmac(purpose: 'id' | 'csrf' | 'link', text: string): Buffer {
    return hashLinkToken(this.#hmacKey, purpose, text);
  }

  #idleMsOf(isOfAccount: boolean): number {
    return isOfAccount ? this.#settings.accountSessionIdleMs : this.#settings.sessionIdleMs;
  }

  #startForUser(
    user: UserFacts,
    tokenId: string | null,
    endsAtMs: number | null,
    isOfAccount = false,
  ): Promise<StartedSession> {
    const caller = callerOfUser(user);
    const { orgId, id: userId, generation } = user;
    return this.#start({
      ...NOBODY,
      caller,
      orgId,
      actor: caller.actor,
      userId,
      tokenId,
      generation,
      endsAtMs,
      isOfAccount,
    });
  }

  /** Store a session under a new id, never an id supplied by a browser. */
  async #start({ caller, ...stored }: NewSession): Promise<StartedSession> {
    const secret = newLinkToken();
    const session = { ...stored, id: newId('ses'), hash: this.#hmac('id', secret) };
    const { orgId, actor } = stored;
    const expiresAt = await inTransaction(this.#sql, async (tx) => {
      const lifetimeMs = stored.isOfAccount ? ACCOUNT_SESSION_MS : this.#settings.sessionMs;
      const end = await insertSession(tx, { ...session, lifetimeMs });
      await deleteOldestSessions(tx, stored, SESSIONS_OF_ONE_MAX);
      await recordAudit(tx, { orgId, actor, action: 'session.create', target: session.id });
      return end;
    });
    const idleMs = this.#idleMsOf(stored.isOfAccount);
    return { id: new Secret(secret), caller, csrfToken: this.csrfTokenOf(secret), expiresAt, idleMs };
  }

  async #lookUp(hash: Buffer, isUse: boolean): Promise<Resolved> {
    const session = await this.#select(hash);
    const { caller, endsInMs } = await this.#callerOf(session);
    if (isUse && session.lastUsedIsOld) await updateSessionUse(this.#sql, session.orgId, session.id);
    return { caller, endsInMs: Math.min(session.endsInMs, endsInMs ?? session.endsInMs) };
  }

  /** @throws AppError `session_ended` (401) */
  async #select(hash: Buffer): Promise<LiveSession> {
    const session = await selectSession(this.#sql, hash, this.#settings);
    if (!session) throw sessionEnded();
    return session;
  }

  /** Find the caller of a session, with its current rights. @throws AppError `session_ended` (401) */
  async #callerOf(session: LiveSession): Promise<Resolved> {
    const resolved = await callerOfSubject(this.#sql, session);
    if (resolved === null) throw sessionEnded();
    return resolved;
  }
}
