import { Gauge, type Registry } from 'prom-client';
import type { Logger } from '../../src/platform/logger.ts';
import type { TlsSettings } from '../../src/platform/tls-settings.ts';
import type { Listening } from '../http-server.ts';
import { AcmeCertificates } from './acme-certificates.ts';
import { type Certificates, expiryOf, type Identity } from './certificates.ts';
import { FileCertificates } from './file-certificates.ts';
import { RedirectServer } from './redirect-server.ts';

/** TLS of a server that is about to listen. */
export interface OpenTls {
  readonly domain: string | null;
  readonly identity: Identity;
  /** Port that redirects to https; null if it is not open. */
  readonly httpPort: number | null;
  /** Pass each new certificate to the server. */
  attach(listening: Listening): void;
  close(): Promise<void>;
}

/**
 * Open the certificate of this server, and the port that redirects to https.
 *
 * @param context.isTakeover true if the server of an earlier release may still hold that port
 * @throws AppError `cannot_listen`, `certificate_unavailable`, `certificate_unusable`
 */
export async function openTls(
  { domain, httpPort, source }: TlsSettings,
  context: {
    readonly dataDir: string;
    readonly host: string;
    readonly logger: Logger;
    readonly registry: Registry;
    readonly signal: AbortSignal;
    readonly isTakeover: boolean;
    /** Interval for checking the certificate; for tests. */
    readonly lookMs?: number;
  },
): Promise<OpenTls> {
  const { host, logger, registry, signal, isTakeover } = context;
  const answers = new Map<string, string>();
  let listening: Listening | null = null;
  const origin = () => listening?.url ?? null;
  const redirect = httpPort === null ? null : new RedirectServer({ host, port: httpPort, origin, answers, logger });
  await redirect?.open({ isTakeover });
  const certificates: Certificates =
    'acme' in source
      ? new AcmeCertificates(source.acme, { ...context, answers })
      : new FileCertificates(source, context);
  const close = async () => {
    await certificates.close();
    await redirect?.close();
  };
  let present: Identity;
  try {
    present = await certificates.open(signal);
  } catch (error) {
    await close();
    throw error;
  }
  measureExpiry(registry, () => expiryOf(present));
  return {
    domain,
    identity: present,
    get httpPort() {
      return redirect?.port ?? null;
    },
    attach(server) {
      listening = server;
      certificates.watch((identity) => {
        present = identity;
        server.setIdentity(identity);
      });
    },
    close,
  };
}

function measureExpiry(registry: Registry, expiresMs: () => number): void {
  const name = 'service_certificate_expires_in_seconds';
  registry.removeSingleMetric(name);
  new Gauge({
    name,
    help: 'Time until the certificate of this server expires; negative if it has expired.',
    registers: [registry],
    collect() {
      this.set((expiresMs() - Date.now()) / 1000);
    },
  });
}
