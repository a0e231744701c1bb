import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { z } from 'zod';
import { conflict, invalidRequest, notFound } from '../../platform/errors.ts';
import { isLoopbackHost } from '../../platform/networks.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import { recordAudit } from '../audit.ts';
import type { Caller } from '../caller.ts';
import { invalidCredentials } from '../credential-errors.ts';
import type { UserFacts } from '../credential-store.ts';
import { takeSignInState } from '../sessions/invitation-store.ts';
import { readSealed, sealFor } from '../sessions/sealed-value.ts';
import { type Account, selectUserOfAccount } from './account-store.ts';
import {
  deletePasskey,
  hasPasskeys,
  insertPasskey,
  type Passkey,
  selectPasskey,
  selectPasskeys,
  updatePasskeyUse,
} from './passkey-store.ts';

/** Time for the person to confirm on the device. */
export const PASSKEY_MS = 5 * 60_000;
const PASSKEYS_MAX = 20;
const CONTEXT = 'passkey-challenge';
/** COSE algorithms of passkeys: Ed25519, ECDSA on P-256, and RSA, which Windows uses. */
const ALGORITHMS = [-8, -7, -257];

const Challenge = z.object({ challenge: z.string(), accountId: z.string().nullable(), untilMs: z.number() });

/** Site that a passkey is for. */
interface Site {
  readonly origin: string;
  readonly host: string;
}

/** Challenge for a device, and the value that the browser keeps until the device responds. */
export interface Asked<Options> {
  readonly options: Options;
  readonly kept: string;
}

/**
 * Passkeys of accounts (Web Authentication Level 3). A device must verify its user, for example by PIN or fingerprint.
 */
export class Passkeys {
  readonly #sql: Sql;
  readonly #keyRing: Pick<KeyRing, 'encryption'>;

  constructor({ sql, keyRing }: { sql: Sql; keyRing: Pick<KeyRing, 'encryption'> }) {
    this.#sql = sql;
    this.#keyRing = keyRing;
  }

  /** Return true if any passkey exists for this address. */
  async canSignIn(origin: string | null): Promise<boolean> {
    return siteOf(origin) !== null && hasPasskeys(this.#sql);
  }

  list(account: Account): Promise<Passkey[]> {
    return selectPasskeys(this.#sql, account.id);
  }

  /** Create the challenge for a new passkey. @throws AppError `passkeys_unavailable` or `too_many_passkeys` (409) */
  async askForNew(account: Account, origin: string | null): Promise<Asked<PublicKeyCredentialCreationOptionsJSON>> {
    const { host } = requireSite(origin);
    const known = await this.list(account);
    if (known.length >= PASSKEYS_MAX) {
      throw conflict(`an account can have ${PASSKEYS_MAX} passkeys; delete one first`, 'too_many_passkeys');
    }
    const { generateRegistrationOptions } = await import('@simplewebauthn/server');
    const options = await generateRegistrationOptions({
      rpName: host,
      rpID: host,
      userName: account.email,
      userID: Uint8Array.from(Buffer.from(account.id)),
      timeout: PASSKEY_MS,
      excludeCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
      supportedAlgorithmIDs: ALGORITHMS,
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    return { options, kept: this.#keep(options.challenge, account.id) };
  }

  /**
   * Add the passkey that a device has created.
   * @throws AppError `passkey_refused` (400) for an invalid response, `passkey_exists` (409)
   */
  async add(
    by: Caller,
    account: Account,
    answer: { name: string; response: RegistrationResponseJSON; kept: string | null; origin: string | null },
  ): Promise<void> {
    const site = requireSite(answer.origin);
    const expectedChallenge = await this.#takeChallenge(answer.kept, account.id);
    if (expectedChallenge === null) throw refused();
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyRegistrationResponse({
      response: answer.response,
      expectedChallenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      supportedAlgorithmIDs: ALGORITHMS,
    }).catch(() => null);
    if (verified?.verified !== true) throw refused();
    const { id, publicKey, counter } = verified.registrationInfo.credential;
    const transports = answer.response.response.transports ?? [];
    const passkey = { id, accountId: account.id, name: answer.name, publicKey, counter, transports };
    if (!(await insertPasskey(this.#sql, passkey)))
      throw conflict('this passkey is already registered', 'passkey_exists');
    const { orgId, actor } = by;
    await recordAudit(this.#sql, { orgId, actor, action: 'account.add_passkey', target: by.userId });
  }

  /** @throws AppError `passkey_not_found` (404) */
  async delete(by: Caller, account: Account, id: string): Promise<void> {
    if (!(await deletePasskey(this.#sql, account.id, id))) throw notFound('passkey', id);
    const { orgId, actor } = by;
    await recordAudit(this.#sql, { orgId, actor, action: 'account.delete_passkey', target: by.userId });
  }

  /** Create the challenge to sign in with any passkey of this site. @throws AppError `passkeys_unavailable` (409) */
  async askToSignIn(origin: string | null): Promise<Asked<PublicKeyCredentialRequestOptionsJSON>> {
    const { host } = requireSite(origin);
    const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
    const options = await generateAuthenticationOptions({
      rpID: host,
      timeout: PASSKEY_MS,
      userVerification: 'required',
    });
    return { options, kept: this.#keep(options.challenge, null) };
  }

  /** Verify a device's response, and return the user who signs in. @throws AppError `invalid_credentials` (401) */
  async signIn(answer: {
    response: AuthenticationResponseJSON;
    kept: string | null;
    origin: string | null;
  }): Promise<UserFacts> {
    const site = requireSite(answer.origin);
    const expectedChallenge = await this.#takeChallenge(answer.kept, null);
    const passkey = expectedChallenge === null ? null : await selectPasskey(this.#sql, answer.response.id);
    if (expectedChallenge === null || passkey === null) throw invalidCredentials();
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const verified = await verifyAuthenticationResponse({
      response: answer.response,
      expectedChallenge,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      credential: {
        id: passkey.id,
        publicKey: passkey.publicKey,
        counter: passkey.counter,
        transports: [...passkey.transports] as AuthenticatorTransport[],
      },
    }).catch(() => null);
    if (verified?.verified !== true) throw invalidCredentials();
    await updatePasskeyUse(this.#sql, passkey.id, verified.authenticationInfo.newCounter);
    const user = await selectUserOfAccount(this.#sql, passkey.accountId);
    if (user === null) throw invalidCredentials();
    return user;
  }

  #keep(challenge: string, accountId: string | null): string {
    return sealFor(this.#keyRing, { challenge, accountId, untilMs: Date.now() + PASSKEY_MS }, CONTEXT);
  }

  /** Consume the challenge that a browser kept; null if it is invalid, expired, used or of another account. */
  async #takeChallenge(kept: string | null, accountId: string | null): Promise<string | null> {
    const asked = readSealed(this.#keyRing, kept, Challenge, CONTEXT);
    if (asked === null || asked.accountId !== accountId) return null;
    const hash = createHash('sha256').update(asked.challenge).digest();
    return (await takeSignInState(this.#sql, hash, new Date(asked.untilMs))) ? asked.challenge : null;
  }
}

/**
 * Find the site of an address; null if browsers don't allow passkeys there. They need a host name, and https unless it
 * is `localhost`. For a loopback address, use `localhost`, where the service is also reachable.
 */
function siteOf(origin: string | null): Site | null {
  if (origin === null || !URL.canParse(origin)) return null;
  const { hostname, protocol, port } = new URL(origin);
  if (isLoopbackHost(hostname))
    return { origin: `${protocol}//localhost${port === '' ? '' : `:${port}`}`, host: 'localhost' };
  if (protocol !== 'https:' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null;
  return { origin, host: hostname };
}

function requireSite(origin: string | null): Site {
  const site = siteOf(origin);
  if (site !== null) return site;
  const message = 'passkeys need a host name and https; open the console by its host name, or at http://localhost';
  throw conflict(message, 'passkeys_unavailable');
}

function refused() {
  return invalidRequest('the passkey was not accepted; try again', 'response', 'passkey_refused');
}
