import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Me } from '../client/schema.ts';
import type { ServiceApi } from '../client/service-api.ts';
import { runWithin } from '../platform/deadline.ts';
import { AppError } from '../platform/errors.ts';
import type { Secret } from '../platform/secret.ts';

/**
 * Lifetime of a cached verdict. The API caches for another half second, so a revoked credential is refused within a
 * second.
 */
const FRESH_MS = 400;
const ENTRIES_MAX = 10_000;
/** Time for which to admit a known caller while the API is unreachable. The tools then report the outage. */
const REMEMBERED_MS = 10 * 60_000;

/** Facts about an accepted caller. */
export interface KnownCaller {
  readonly orgId: string;
  /** Access granted to a client by a person; null for a key or user token. */
  readonly grant: {
    readonly clientId: string;
    readonly givenBy: string;
    /** Address of the tool server that it is valid for. */
    readonly toolServer: string;
  } | null;
  readonly scopes: readonly string[];
}

interface Verdict {
  readonly refused: AppError | null;
  /** Null for a refused caller. */
  readonly caller: KnownCaller | null;
  readonly atMs: number;
}

/** Checks credentials at the API, with one API call for all requests within 0.4 s. */
export class CallerCheck {
  readonly #verdicts = new LRUCache<string, Verdict>({ max: ENTRIES_MAX, ttl: REMEMBERED_MS });
  readonly #asking = new Map<string, Promise<Verdict>>();
  readonly #apiOf: (credential: Secret) => ServiceApi;

  constructor(apiOf: (credential: Secret) => ServiceApi) {
    this.#apiOf = apiOf;
  }

  /** Return true for a credential that the API accepted within the last ten minutes. */
  isKnown(credential: Secret): boolean {
    return this.#verdicts.peek(keyOf(credential))?.refused === null;
  }

  /**
   * Return the caller of a credential.
   *
   * @throws AppError of the API: `api_refused` (401 and others), `api_unreachable` (503)
   */
  async require(credential: Secret): Promise<KnownCaller> {
    const { refused, caller } = await this.#verdictOn(credential);
    if (refused !== null || caller === null) throw refused;
    return caller;
  }

  /** Check like `require`, but while the API is unreachable admit a caller known within the last ten minutes. */
  async requireKnown(credential: Secret): Promise<KnownCaller> {
    const before = this.#verdicts.peek(keyOf(credential));
    try {
      return await this.require(credential);
    } catch (error) {
      const isDown = error instanceof AppError && error.code === 'api_unreachable';
      if (!isDown || before?.caller == null) throw error;
      return before.caller;
    }
  }

  async #verdictOn(credential: Secret): Promise<Verdict> {
    const key = keyOf(credential);
    const known = this.#verdicts.get(key);
    if (known !== undefined && performance.now() - known.atMs < FRESH_MS) return known;
    const asking = this.#asking.get(key);
    if (asking !== undefined) return asking;
    const asked = this.#ask(key, credential).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    return asked;
  }

  /** Ask the API and cache its verdict. Don't cache a failed request. */
  async #ask(key: string, credential: Secret): Promise<Verdict> {
    let refused: AppError | null = null;
    let caller: KnownCaller | null = null;
    try {
      const { org, grant, scopes } = await runWithin(10_000, undefined, (signal) => this.#apiOf(credential).me(signal));
      caller = { orgId: org.id, grant: grant ? grantOf(grant) : null, scopes };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'api_refused' || error.status >= 500) throw error;
      refused = error;
    }
    const verdict = { refused, caller, atMs: performance.now() };
    this.#verdicts.set(key, verdict);
    return verdict;
  }
}

function grantOf(grant: NonNullable<Me['grant']>): KnownCaller['grant'] {
  return { clientId: grant.client_id, givenBy: grant.given_by, toolServer: grant.tool_server };
}

/** Hash a credential for use as a map key, so that a memory dump doesn't contain all credentials in plain text. */
function keyOf(credential: Secret): string {
  return hash('sha256', credential.reveal(), 'base64');
}
