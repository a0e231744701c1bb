import { seal, unseal } from '../platform/seal.ts';
import { Secret } from '../platform/secret.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import type { SealedSecrets } from './endpoint-store.ts';

interface EndpointId {
  readonly orgId: string;
  readonly id: string;
}

/** Encrypt the secret of an endpoint. */
export function sealSecret({ encryption }: Pick<KeyRing, 'encryption'>, endpoint: EndpointId, secret: Secret): Buffer {
  return seal(encryption, secret.reveal(), contextOf(endpoint));
}

/**
 * Decrypt the secrets of an endpoint: the current one, and the previous one while its overlap lasts.
 * @throws AppError `sealed_value_unreadable` (500)
 */
export function openSecrets(
  { encryption }: Pick<KeyRing, 'encryption'>,
  endpoint: EndpointId & SealedSecrets,
): readonly Secret[] {
  return [endpoint.sealedSecret, endpoint.sealedPrevious]
    .filter((sealed) => sealed !== null)
    .map((sealed) => new Secret(unseal(encryption, sealed, contextOf(endpoint))));
}

/** Return the encryption context of a secret, which binds the encrypted value to its row. */
export function contextOf({ orgId, id }: EndpointId): string {
  return `webhook_endpoints/${orgId}/${id}`;
}
