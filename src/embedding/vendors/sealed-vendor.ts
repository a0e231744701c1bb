import { seal, unseal } from '../../platform/seal.ts';
import { Secret } from '../../platform/secret.ts';
import type { SimpleVendor } from '../../platform/vendor-settings.ts';
import { VendorSecrets } from './schema.ts';
import type { VendorRow } from './vendor-store.ts';

type SealedFields = Pick<VendorRow, 'sealedApiKey' | 'sealedCredentials'>;

/** Encrypt the secrets of a vendor, each bound to the address that it may be sent to. */
export function sealVendor(encryption: Buffer, vendor: SimpleVendor): SealedFields {
  const { name, base_url: baseUrl, api_key: apiKey } = vendor;
  const context = contextOf(name, baseUrl ?? '');
  const secrets = {
    access_key_id: vendor.access_key_id?.reveal(),
    secret_access_key: vendor.secret_access_key?.reveal(),
    session_token: vendor.session_token?.reveal(),
    service_account: vendor.service_account?.reveal(),
  };
  const hasSecrets = Object.values(secrets).some((value) => value !== undefined);
  return {
    sealedApiKey: apiKey ? seal(encryption, apiKey.reveal(), context) : null,
    sealedCredentials: hasSecrets ? seal(encryption, JSON.stringify(secrets), context) : null,
  };
}

/** Decrypt a stored vendor. @throws AppError `sealed_value_unreadable` (500) */
export function unsealVendor(encryption: Buffer, row: Omit<VendorRow, 'models'>): SimpleVendor {
  const { name, protocol, baseUrl, sealedApiKey, sealedCredentials, parameters } = row;
  const context = contextOf(name, baseUrl);
  const secrets = sealedCredentials === null ? '{}' : unseal(encryption, sealedCredentials, context);
  return {
    name,
    protocol,
    ...parameters,
    ...VendorSecrets.parse(JSON.parse(secrets)),
    base_url: baseUrl || undefined,
    api_key: sealedApiKey === null ? undefined : new Secret(unseal(encryption, sealedApiKey, context)),
  };
}

/** Return the encryption context of a secret, which ties it to the address that it may be sent to. */
function contextOf(name: string, baseUrl: string): string {
  return `vendors/${name}/${baseUrl}`;
}
