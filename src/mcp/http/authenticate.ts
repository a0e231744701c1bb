import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../platform/errors.ts';
import { FairGate } from '../../platform/fair-gate.ts';
import { RefusalBrake } from '../../platform/refusal-brake.ts';
import { Secret } from '../../platform/secret.ts';
import type { ToolServerAuth } from '../../platform/tool-server-settings.ts';
import type { CallerCheck } from '../caller-check.ts';

/** Client of the HTTP server. */
export interface Principal {
  /** SHA-256 of its bearer token, which owns sessions and results. */
  readonly id: string;
  /** Organization whose share of the server it uses. Clients that share one token share everything. */
  readonly orgId: string;
  /** Credential that is sent to the API. */
  readonly credential: Secret;
}

/**
 * @param address of the client, to which unknown bearers are counted
 * @throws AppError `bearer_missing`, `bearer_invalid` (401), `too_many_failed_logins` (429), `api_unreachable`,
 *   `server_busy` (503)
 */
export type Authenticate = (
  authorization: string | undefined,
  address: string,
  signal: () => AbortSignal,
) => Promise<Principal>;

const BEARER_CHARS_MAX = 8192;
/** Owner of everything where all clients have one token. */
const EVERYBODY = 'everybody';

/** Limits on the checks of unknown bearers, by address. The API answers wrong ones late. */
const CHECKS = { runningMax: 8, runningOfOneMax: 2, waitingOfOneMax: 20 };
/** Wrong bearers of one address that are answered at once; further ones are answered a second late. */
const REFUSALS = { burst: 60, perSecond: 1 };

/** Create the check of clients for the mode of the server. */
export function openAuthentication(auth: ToolServerAuth, callers: CallerCheck): Authenticate {
  const checks = new FairGate(CHECKS);
  const refusals = new RefusalBrake(REFUSALS);
  const refused = async (error: AppError, address: string, signal: () => AbortSignal) => {
    if (!(await refusals.brake([address], signal))) throw tooManyRefusals();
    throw error;
  };
  switch (auth.mode) {
    case 'unauthenticated': {
      const everybody = { id: 'anonymous', orgId: EVERYBODY, credential: auth.apiKey };
      return async () => everybody;
    }
    case 'static': {
      const expected = digest(auth.token.reveal());
      return async (authorization, address, signal) => {
        const presented = digest(readBearer(authorization));
        if (!timingSafeEqual(presented, expected)) {
          await refused(bearerInvalid('the bearer token is wrong'), address, signal);
        }
        return { id: presented.toString('hex'), orgId: EVERYBODY, credential: auth.apiKey };
      };
    }
    case 'upstream-bearer':
      return async (authorization, address, signal) => {
        const bearer = readBearer(authorization);
        const credential = new Secret(bearer);
        const check = async () => {
          try {
            return await callers.requireKnown(credential);
          } catch (error) {
            if (!(error instanceof AppError) || error.code !== 'api_refused' || error.status !== 401) throw error;
            await refused(bearerInvalid(error.message), address, signal);
            throw error;
          }
        };
        // A client that was accepted before never waits behind unknown ones.
        const orgId = await (callers.isKnown(credential) ? check() : checks.run(address, check, signal));
        return { id: digest(bearer).toString('hex'), orgId, credential };
      };
  }
}

/** Return the value of `WWW-Authenticate` (RFC 6750) for a refusal. */
export function challengeOf(error: AppError): string {
  const realm = 'Bearer realm="service-mcp"';
  if (error.code !== 'bearer_invalid') return realm;
  const description = error.message.replace(/[^\x20-\x7e]|["\\]/g, '');
  return `${realm}, error="invalid_token", error_description="${description}"`;
}

function readBearer(authorization: string | undefined): string {
  const [, bearer] = /^bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '') ?? [];
  if (bearer === undefined) {
    const message = 'this tool server needs the header "Authorization: Bearer <token>"';
    throw new AppError({ code: 'bearer_missing', status: 401, message });
  }
  if (bearer.length > BEARER_CHARS_MAX) throw bearerInvalid('the bearer token is too long');
  return bearer;
}

function tooManyRefusals(): AppError {
  return new AppError({
    code: 'too_many_failed_logins',
    status: 429,
    message: 'too many requests with bearers that are not accepted; wait a minute, and check the key or token',
    retryable: true,
    retryAfterSeconds: 60,
  });
}

function bearerInvalid(message: string): AppError {
  return new AppError({ code: 'bearer_invalid', status: 401, message });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
