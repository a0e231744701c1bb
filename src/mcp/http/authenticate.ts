import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../platform/errors.ts';
import { Secret } from '../../platform/secret.ts';
import type { ToolServerAuth } from '../../platform/tool-server-settings.ts';
import type { CallerCheck } from '../caller-check.ts';

/** Client of the HTTP server. */
export interface Principal {
  /** SHA-256 of its bearer token, which owns sessions and results. */
  readonly id: string;
  /** Credential that is sent to the API. */
  readonly credential: Secret;
}

/** @throws AppError `bearer_missing`, `bearer_invalid` (401), `api_unreachable` (503) */
export type Authenticate = (authorization: string | undefined) => Promise<Principal>;

const BEARER_CHARS_MAX = 8192;

/** Create the check of clients for the mode of the server. */
export function openAuthentication(auth: ToolServerAuth, callers: CallerCheck): Authenticate {
  switch (auth.mode) {
    case 'unauthenticated': {
      const everybody = { id: 'anonymous', credential: auth.apiKey };
      return async () => everybody;
    }
    case 'static': {
      const expected = digest(auth.token.reveal());
      return async (authorization) => {
        const presented = digest(readBearer(authorization));
        if (!timingSafeEqual(presented, expected)) throw bearerInvalid('the bearer token is wrong');
        return { id: presented.toString('hex'), credential: auth.apiKey };
      };
    }
    case 'upstream-bearer':
      return async (authorization) => {
        const bearer = readBearer(authorization);
        const credential = new Secret(bearer);
        try {
          await callers.requireKnown(credential);
        } catch (error) {
          if (error instanceof AppError && error.code === 'api_refused' && error.status === 401) {
            throw bearerInvalid(error.message);
          }
          throw error;
        }
        return { id: digest(bearer).toString('hex'), credential };
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

function bearerInvalid(message: string): AppError {
  return new AppError({ code: 'bearer_invalid', status: 401, message });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
