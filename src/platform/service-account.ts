import { z } from 'zod';
import { Secret } from './secret.ts';

/** Default token server of Google Cloud keys. */
const TOKEN_URL = 'https://oauth2.googleapis.com/token';

const KeyFile = z.object({
  client_email: z.string().min(1).max(320),
  private_key: z.string().startsWith('-----BEGIN PRIVATE KEY-----'),
  private_key_id: z.string().max(200).optional(),
  token_uri: z
    .url({ protocol: /^https?$/ })
    .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url))
    .default(TOKEN_URL),
});

/** Google Cloud service account. */
export interface ServiceAccount {
  readonly email: string;
  /** Private key, as PEM. */
  readonly privateKey: Secret;
  readonly keyId: string | null;
  /** URL of the server that exchanges signed assertions for access tokens. */
  readonly tokenUrl: string;
}

/**
 * Schema of the JSON key of a service account, as the Google Cloud console writes it
 * (cloud.google.com/iam/docs/keys-create-delete, November 2026).
 */
export const ServiceAccountKey = z
  .string()
  .max(10_000)
  .refine((text) => KeyFile.safeParse(parsed(text)).success, {
    error: 'is not the JSON key of a service account (client_email, private_key)',
  })
  .transform((text) => new Secret(text));

/** Parse a key that `ServiceAccountKey` has validated. */
export function readServiceAccount(key: Secret): ServiceAccount {
  const file = KeyFile.parse(parsed(key.reveal()));
  return {
    email: file.client_email,
    privateKey: new Secret(file.private_key),
    keyId: file.private_key_id ?? null,
    tokenUrl: file.token_uri,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
