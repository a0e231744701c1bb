import { createHmac, randomBytes } from 'node:crypto';
import { Secret } from '../platform/secret.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Generate a secret in the format of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function newSecret(): Secret {
  return new Secret(`${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`);
}

/**
 * Return the headers of an event as specified by Standard Webhooks 1.0
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): HMAC-SHA256 over
 * `id.timestamp.payload`, one signature per secret.
 *
 * @param atMs time of this attempt, in milliseconds since 1970
 */
export function signatureHeaders(
  { id, payload }: { readonly id: string; readonly payload: string },
  secrets: readonly Secret[],
  atMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000));
  const sign = (secret: Secret) => {
    const key = Buffer.from(secret.reveal().slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${payload}`).digest('base64')}`;
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(sign).join(' '),
  };
}
