import { timingSafeEqual } from 'node:crypto';
import { forbidden } from '../platform/errors.ts';
import { unseal } from '../platform/seal.ts';
import { Secret } from '../platform/secret.ts';
import { signatureHeaders } from '../webhooks/sign.ts';
import { insertStart, selectSecret } from './trigger-store.ts';
import { secretContextOf, type TriggerContext } from './triggers.ts';

/** Allowed clock difference of signatures, as in the libraries of Standard Webhooks. */
const TOLERANCE_MS = 5 * 60_000;
const ID_CHARS_MAX = 200;

/** Request to start a workflow, as sent. */
export interface StartRequest {
  readonly triggerId: string;
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  readonly signature: string | undefined;
  readonly bytes: Buffer;
}

/**
 * Record a workflow start if its request is signed according to Standard Webhooks 1.0. A process that runs chores
 * starts the run. A repeated id has no effect. All refusals of signatures look the same.
 *
 * @param parseJson parses a body, or throws AppError 400
 * @returns false if a request with this id was already accepted
 * @throws AppError `signature_invalid` (403), and what `parseJson` throws
 */
export async function acceptStart(
  { sql, keyRing }: TriggerContext,
  request: StartRequest,
  parseJson: (bytes: Buffer) => Promise<object>,
): Promise<boolean> {
  const { triggerId, id = '', bytes } = request;
  const found = await selectSecret(sql, triggerId);
  const payload = bytes.toString();
  const isValid =
    found !== null &&
    isSigned(request, payload, secretOf(keyRing.encryption, found.sealedSecret, { orgId: found.orgId, id: triggerId }));
  if (!isValid) {
    const message =
      'the request is not signed with the secret of this trigger, or its timestamp is too old or in the future';
    throw forbidden(message, 'signature_invalid');
  }
  return insertStart(sql, { triggerId, orgId: found.orgId, key: `webhook:${id}`, event: await parseJson(bytes) });
}

function secretOf(key: Buffer, sealed: Buffer, trigger: { readonly orgId: string; readonly id: string }): Secret {
  return new Secret(unseal(key, sealed, secretContextOf(trigger)));
}

function isSigned({ id, timestamp, signature }: StartRequest, payload: string, secret: Secret): boolean {
  if (id === undefined || id === '' || id.length > ID_CHARS_MAX || signature === undefined) return false;
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) return false;
  const atMs = Number(timestamp) * 1_000;
  if (Math.abs(Date.now() - atMs) > TOLERANCE_MS) return false;
  const expected = Buffer.from(String(signatureHeaders({ id, payload }, [secret], atMs)['webhook-signature']));
  return signature.split(' ').some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
