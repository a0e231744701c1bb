import type { CreatedApiKey } from '../access/keys.ts';

/** A new key as `keys create` and `keys rotate` print it. It is the only place where a key is revealed. */
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
