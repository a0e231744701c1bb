import type { CreatedApiKey } from '../access/keys.ts';

/** Render a new key for `keys create` and `keys rotate`. A key is revealed nowhere else. */
export function createdKey({ apiKey, key }: CreatedApiKey) {
  return {
    id: apiKey.id,
    key: key.reveal(),
    name: apiKey.name,
    org_id: apiKey.org_id,
    scopes: apiKey.scopes,
    auth_level: apiKey.auth_level,
    expires_at: apiKey.expires_at,
  };
}
