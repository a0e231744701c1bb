import type { RequestListener } from 'node:http';
import type { Appliance } from '../src/appliance/appliance.ts';
import { explainPortInUse } from '../src/appliance/running-servers.ts';
import { createHttpServer, type HttpServerBounds, type Listening } from './http-server.ts';
import { openTls } from './tls/open-tls.ts';

/**
 * Listen for API requests, with TLS if configured. Closing also closes the port that redirects to https.
 * @param options.socket file descriptor of a supervisor's listening socket, in place of host and port; null for none
 * @throws AppError `cannot_listen`, `certificate_unavailable`, `certificate_unusable`
 */
export async function listenApi(
  callback: RequestListener,
  { config, logger, metrics }: Pick<Appliance, 'config' | 'logger' | 'metrics'>,
  options: {
    readonly host: string;
    readonly port: number;
    readonly socket: number | null;
    readonly bounds?: Partial<HttpServerBounds> | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Listening> {
  const { host, port, socket, bounds = {}, signal } = options;
  const { dataDir } = config;
  const isTakeover = socket !== null;
  const { registry } = metrics;
  const tls = config.tls && (await openTls(config.tls, { dataDir, host, logger, registry, signal, isTakeover }));
  try {
    const server = createHttpServer(callback, { logger, bounds, tls });
    const listening = await server.listen(socket === null ? { host, port } : { host, fd: socket });
    tls?.attach(listening);
    return {
      ...listening,
      async close(times) {
        await tls?.close();
        await listening.close(times);
      },
    };
  } catch (error) {
    await tls?.close();
    throw await explainPortInUse(error, { host, port, dataDir });
  }
}
