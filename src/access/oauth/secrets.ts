import { createHmac, randomBytes } from 'node:crypto';
import type { KeyRing } from '../../platform/secret-key.ts';

/** Prefixes by which secret scanners and the resolver of callers recognise the secrets. */
const PREFIXES = { access: 'svat_', refresh: 'svrt_', code: 'svac_', client: 'svcs_' } as const;
export type SecretKind = keyof typeof PREFIXES;

const RANDOM_BYTES = 32;
const RANDOM_SHAPE = /^[\w-]{43}$/;

export interface NewSecret {
  readonly text: string;
  /** HMAC-SHA-256, the only stored form. */
  readonly hash: Buffer;
}

/** Return true for a text that could be an access token. */
export function isAccessToken(text: string): boolean {
  return text.startsWith(PREFIXES.access);
}

/** OAuth codes, tokens and client secrets: 256 random bits with a prefix, stored as an HMAC. */
export class OAuthSecrets {
  readonly #key: Buffer;

  constructor(keyRing: Pick<KeyRing, 'oauth'>) {
    this.#key = keyRing.oauth;
  }

  create(kind: SecretKind): NewSecret {
    const text = PREFIXES[kind] + randomBytes(RANDOM_BYTES).toString('base64url');
    return { text, hash: this.#hmac(text) };
  }

  /** Hash a presented secret; null if it can't be of this kind. */
  hash(kind: SecretKind, text: string): Buffer | null {
    const prefix = PREFIXES[kind];
    if (!text.startsWith(prefix) || !RANDOM_SHAPE.test(text.slice(prefix.length))) return null;
    return this.#hmac(text);
  }

  #hmac(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }
}
