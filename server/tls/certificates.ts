import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Secret } from '../../src/platform/secret.ts';

/** Certificate with its chain, and its private key, both as PEM. */
export interface Identity {
  readonly chain: string;
  readonly key: Secret;
}

/** Source of the certificate of this server. */
export interface Certificates {
  /** Return the initial certificate. @throws AppError if there is none */
  open(signal: AbortSignal): Promise<Identity>;
  /** Keep the certificate current, and pass each new one to `onChange`, until `close`. */
  watch(onChange: (identity: Identity) => void): void;
  close(): Promise<void>;
}

/** Return a certificate's expiry in milliseconds since 1970. @throws TypeError if it isn't a certificate */
export function expiryOf({ chain }: Identity): number {
  return new X509Certificate(chain).validToDate.getTime();
}

/**
 * Find a fault that makes a certificate unusable; null if there is none.
 * @param domain required host name; null for any
 */
export function faultOf({ chain, key }: Identity, domain: string | null): string | null {
  try {
    const certificate = new X509Certificate(chain);
    if (!certificate.checkPrivateKey(createPrivateKey(key.reveal())))
      return 'the key does not belong to the certificate';
    if (domain !== null && certificate.checkHost(domain) === undefined) return `it is not for ${domain}`;
    createSecureContext({ cert: chain, key: key.reveal() });
    return null;
  } catch {
    return 'it is not a certificate with its key in PEM';
  }
}
