import { z } from 'zod';
import { isTree, type Tree } from './settings-tree.ts';

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';
const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/** Host name: at least two labels of letters, digits and hyphens. A wildcard would need a DNS challenge. */
const HOST_NAME = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Settings of TLS in `service.yaml`. */
export const tlsSettings = {
  tls: z
    .strictObject({
      domain: z
        .string()
        .toLowerCase()
        .regex(HOST_NAME, 'must be the name of this host in the DNS, such as embed.example.com')
        .optional()
        .describe('name of this host, for which the service gets a certificate (ACME) and renews it'),
      agree_to_terms: z
        .boolean()
        .default(false)
        .describe('true: you agree to the terms of the authority that issues the certificate'),
      email: z.email().optional().describe('email address for messages from the authority'),
      acme_directory: z
        .url({ protocol: /^https$/, error: 'must be an https URL' })
        .default(LETS_ENCRYPT)
        .describe("directory of the authority (RFC 8555); by default Let's Encrypt"),
      acme_ca_file: z
        .string()
        .min(1)
        .optional()
        .describe('file with certificates (PEM) to trust for acme_directory, for an authority of your own'),
      http_port: z.coerce
        .number()
        .int()
        .min(0)
        .max(65535)
        .optional()
        .describe('port that answers the authority and redirects to https (default: 80 with a domain, else none)'),
      cert_file: z
        .string()
        .min(1)
        .optional()
        .describe('file with your own certificate and its chain (PEM); the service reads it again when it changes'),
      key_file: z.string().min(1).optional().describe('file with the private key of cert_file (PEM)'),
    })
    .prefault({})
    .describe('TLS of the API'),
};

type TlsFile = z.output<z.ZodObject<typeof tlsSettings>>;

/** Settings of certificates issued through ACME (RFC 8555). */
export interface AcmeSettings {
  readonly domain: string;
  readonly email: string | null;
  readonly directoryUrl: string;
  /** File of CA certificates for the ACME server; null for those of the system. */
  readonly caFile: string | null;
}

export interface TlsSettings {
  /** Host name in the server's address; null to use the address that it listens on. */
  readonly domain: string | null;
  /** Port that redirects to https; null for none. */
  readonly httpPort: number | null;
  readonly source: { readonly acme: AcmeSettings } | { readonly certFile: string; readonly keyFile: string };
}

/** Return the defaults of the listening address that differ from those of plain HTTP. */
export function listenDefaults({ tls }: Tree): Tree {
  if (!isTree(tls) || (tls['domain'] === undefined && tls['cert_file'] === undefined)) return {};
  // A server with a domain is meant to be reachable by others.
  return { port: HTTPS_PORT, ...(tls['domain'] === undefined ? {} : { host: '::' }) };
}

/** Return the TLS settings of the API; null for plain HTTP. */
export function tlsConfigOf({ tls }: TlsFile): TlsSettings | null {
  const { domain = null, cert_file: certFile, key_file: keyFile } = tls;
  const hasFiles = certFile !== undefined && keyFile !== undefined;
  if (domain === null && !hasFiles) return null;
  const source = hasFiles ? { certFile, keyFile } : { acme: acmeOf(tls, domain as string) };
  return { domain, httpPort: tls.http_port ?? (domain === null ? null : HTTP_PORT), source };
}

function acmeOf(tls: TlsFile['tls'], domain: string): AcmeSettings {
  return { domain, email: tls.email ?? null, directoryUrl: tls.acme_directory, caFile: tls.acme_ca_file ?? null };
}

/** Find contradicting settings. */
export function tlsFaults({ tls }: TlsFile): { path: string[]; message: string }[] {
  const { domain, cert_file: certFile, key_file: keyFile } = tls;
  const faults: { path: string[]; message: string }[] = [];
  const fault = (name: string, message: string) => faults.push({ path: ['tls', name], message });
  if (certFile !== undefined && keyFile === undefined) fault('cert_file', 'needs tls.key_file');
  if (keyFile !== undefined && certFile === undefined) fault('key_file', 'needs tls.cert_file');
  if (domain !== undefined && certFile === undefined && !tls.agree_to_terms) {
    fault(
      'domain',
      `needs your agreement to the terms of the authority at ${tls.acme_directory}: set tls.agree_to_terms: true or --agree-to-terms, or name your own certificate in tls.cert_file and tls.key_file`,
    );
  }
  return faults;
}
