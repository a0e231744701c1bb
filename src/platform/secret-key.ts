import { hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readOrCreateLine } from './create-once.ts';
import { Secret } from './secret.ts';

/** Keys derived from the installation's secret key, one per purpose. */
export interface KeyRing {
  /** HMAC key for stored hashes of API keys. */
  readonly apiKeyPepper: Buffer;
  /** HMAC key that signs the appliance's own user tokens. */
  readonly tokenSigning: Buffer;
  /** AES-256-GCM key for credentials at rest. */
  readonly encryption: Buffer;
  /** HMAC key that signs links to the pages of documents. */
  readonly linkSigning: Buffer;
  /** HMAC key for stored hashes of session ids, and for deriving their CSRF tokens. */
  readonly sessions: Buffer;
  /** HMAC key for stored hashes of OAuth codes, tokens and client secrets. */
  readonly oauth: Buffer;
  /** HMAC key that signs backups. */
  readonly backupSigning: Buffer;
}

/** Derive the purpose keys (HKDF-SHA-256, RFC 5869) from the installation's secret key. */
export function deriveKeyRing(secretKey: Secret): KeyRing {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secretKey.reveal(), '', `service/${purpose}`, 32));
  return {
    apiKeyPepper: derive('api-key-pepper'),
    tokenSigning: derive('token-signing'),
    encryption: derive('encryption'),
    linkSigning: derive('link-signing'),
    sessions: derive('sessions'),
    oauth: derive('oauth'),
    backupSigning: derive('backup-signing'),
  };
}

/** Return the file that holds the secret key if SERVICE_SECRET_KEY is not set. */
export function secretKeyFile(dataDir: string): string {
  return path.join(dataDir, 'secret.key');
}

/** Read the secret key from `<dataDir>/secret.key`; null if there is no such file. */
export function readSecretKey(dataDir: string): Secret | null {
  const file = secretKeyFile(dataDir);
  return existsSync(file) ? new Secret(readFileSync(file, 'utf8').trim()) : null;
}

/** Read the secret key from `<dataDir>/secret.key` (mode 0600). Create it on first start. */
export function readOrCreateSecretKey(dataDir: string): Secret {
  return new Secret(readOrCreateLine(secretKeyFile(dataDir), () => randomBytes(32).toString('base64url')));
}
