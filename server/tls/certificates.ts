import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Secret } from '../../src/platform/secret.ts';

/** Certificate with its chain, and its private key, both PEM. */
export interface Identity {
  readonly chain: string;
  readonly key: Secret;
}

/** Source of the certificate of this server. */
export interface Certificates {
  /** Return the certificate to begin with. @throws AppError if there is none */
  open(signal: AbortSignal): Promise<Identity>;
  /** Keep the certificate current, and pass on each new one, until `close`. */
  watch(onChange: (identity: Identity) => void): void;
  close(): Promise<void>;
}

/** Return the time at which a certificate expires, in milliseconds since 1970. @throws TypeError if it is none */
export function expiryOf({ chain }: Identity): number {
  return new X509Certificate(chain).validToDate.getTime();
}

/**
 * Find the fault of a certificate that no server could use; null if there is none.
 *
 * @param domain host name that it must be for; null for any
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
