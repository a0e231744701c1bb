import { readFile } from 'node:fs/promises';
import { isPem } from '../../platform/source-secrets.ts';
import { SourceFault } from './source-reader.ts';

/** Reason and advice for an untrusted certificate, by Node.js error code. */
const REASONS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; set ca of the connection to trust it',
  SELF_SIGNED_CERT_IN_CHAIN: 'a private authority signed its certificate; set ca of the connection to trust it',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'an unknown authority signed its certificate; set ca of the connection to trust it',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the server does not send the certificate of its authority; set ca of the connection to trust it',
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; check the clock of this host',
  CERT_REVOKED: 'its certificate was revoked; renew it',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name; use the name that the certificate has',
};

/** Return why a certificate is not trusted and what to do about it; null for other errors. */
export function certificateReason(error: unknown): string | null {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (typeof code === 'string' && Object.hasOwn(REASONS, code)) return REASONS[code] as string;
  return cause instanceof Error ? certificateReason(cause) : null;
}

/** Return the certificates of the setting `ca` as PEM text; null for the public ones. @throws SourceFault */
export async function readCa(ca: string | null): Promise<string | null> {
  if (ca === null || isPem(ca)) return ca;
  const text = await readFile(ca, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SourceFault('source_settings', `ca: the file ${ca} cannot be read (${error.code})`, { cause: error });
  });
  if (!isPem(text)) throw new SourceFault('source_settings', `ca: the file ${ca} has no certificate in PEM form`);
  return text;
}
