import { z } from 'zod';
import { newId } from '../../platform/ids.ts';
import type { Sql } from '../../platform/postgres.ts';
import { boundedLine } from '../../platform/printable.ts';
import { AUTH_METHODS, insertClient } from './client-store.ts';
import { oauthError } from './oauth-error.ts';
import { isRedirectUri } from './redirect-uri.ts';
import type { OAuthSecrets } from './secrets.ts';

export const REDIRECT_URIS_MAX = 20;
export const CLIENT_NAME_CHARS_MAX = 100;
/** Maximum number of registered clients without any grant. */
const UNUSED_MAX = 2_000;

/** Metadata of a client (RFC 7591, section 2), from a registration or from a metadata document. */
export const ClientMetadata = z.object({
  client_name: z.string().min(1).max(1_000).optional(),
  redirect_uris: z.array(z.string().max(4_000)).min(1).max(REDIRECT_URIS_MAX),
  token_endpoint_auth_method: z.string().max(100).optional(),
  grant_types: z.array(z.string().max(100)).max(20).optional(),
  response_types: z.array(z.string().max(100)).max(20).optional(),
});
export type ClientMetadata = z.output<typeof ClientMetadata>;

/** Response of a registration (RFC 7591, section 3.2.1). */
export const Registration = z
  .object({
    client_id: z.string(),
    client_secret: z.string().optional().describe('only for a client that authenticates by a secret'),
    client_secret_expires_at: z.int().optional().describe('0: never'),
    client_id_issued_at: z.int(),
    client_name: z.string(),
    redirect_uris: z.array(z.string()),
    grant_types: z.array(z.string()),
    response_types: z.array(z.string()),
    token_endpoint_auth_method: z.enum(AUTH_METHODS),
  })
  .meta({ id: 'OAuthRegistration' });
export type Registration = z.output<typeof Registration>;

/**
 * Check the redirect addresses and the flow of a client's metadata.
 *
 * @throws AppError `invalid_redirect_uri`, `invalid_client_metadata` (400)
 */
export function checkMetadata({ redirect_uris, grant_types, response_types }: ClientMetadata): void {
  const wrong = redirect_uris.find((uri) => !isRedirectUri(uri));
  if (wrong !== undefined) {
    throw oauthError(
      'invalid_redirect_uri',
      'a redirect URI must begin with https://, or be http on localhost or the private scheme of an application',
    );
  }
  if (grant_types !== undefined && !grant_types.includes('authorization_code')) {
    throw oauthError('invalid_client_metadata', 'grant_types must contain authorization_code');
  }
  if (response_types !== undefined && !response_types.includes('code')) {
    throw oauthError('invalid_client_metadata', 'response_types must contain code');
  }
}

/** Sanitise a client's name from untrusted metadata for display. */
export function clientNameOf(metadata: ClientMetadata, fallback: string): string {
  return boundedLine(metadata.client_name ?? '', CLIENT_NAME_CHARS_MAX) || fallback;
}

/**
 * Register a client (RFC 7591). Anybody may do so: a client gets access only if a person consents.
 *
 * @throws AppError `invalid_redirect_uri`, `invalid_client_metadata` (400)
 */
export async function registerClient(sql: Sql, secrets: OAuthSecrets, metadata: ClientMetadata): Promise<Registration> {
  checkMetadata(metadata);
  const { token_endpoint_auth_method: method = 'client_secret_basic', redirect_uris } = metadata;
  const authMethod = AUTH_METHODS.find((known) => known === method);
  if (authMethod === undefined) {
    throw oauthError('invalid_client_metadata', `token_endpoint_auth_method must be one of ${AUTH_METHODS.join(', ')}`);
  }
  const secret = authMethod === 'none' ? null : secrets.create('client');
  const client = { id: newId('client'), name: clientNameOf(metadata, 'unnamed client'), redirectUris: redirect_uris };
  await insertClient(sql, { ...client, authMethod, secretHash: secret?.hash ?? null }, UNUSED_MAX);
  return {
    client_id: client.id,
    ...(secret === null ? {} : { client_secret: secret.text, client_secret_expires_at: 0 }),
    client_id_issued_at: Math.floor(Date.now() / 1000),
    client_name: client.name,
    redirect_uris: [...redirect_uris],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: authMethod,
  };
}
