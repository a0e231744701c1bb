import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Appliance } from './appliance.ts';

/** Limits for monitors and probes, whose requests are small and sequential. */
const BOUNDS = { headersTimeout: 10_000, requestTimeout: 10_000, maxHeaderSize: 8_192 };
const CONNECTIONS_MAX = 64;

export interface MetricsListener extends Service {
  /** Port in use; null before startup and if not configured. */
  readonly port: number | null;
}

/**
 * Create the service that serves `/metrics`, `/healthz` and `/readyz` of this process on the configured port, without
 * credentials. It starts before the other services and stops after them, so that a drain is visible.
 */
export function metricsListener(
  appliance: Pick<Appliance, 'metrics' | 'checkReady' | 'logger'> & { config: Pick<Config, 'metricsListener'> },
): MetricsListener {
  const { logger, config } = appliance;
  const { metricsListener: address } = config;
  let server: Server | null = null;
  return {
    name: 'metrics',
    get port() {
      const bound = server?.address() ?? null;
      return bound === null || typeof bound === 'string' ? null : bound.port;
    },
    async start() {
      if (address === null) return;
      server = createServer(BOUNDS, (req, res) => {
        req.resume();
        answer(appliance, req.method ?? '', req.url ?? '', res).catch((error) => {
          logger.warn({ err: error }, 'a request to the port for metrics failed');
          reply(res, 500, 'text/plain', 'failed\n');
        });
      });
      server.maxConnections = CONNECTIONS_MAX;
      await listen(server, address);
      logger.info({ host: address.host, port: this.port }, 'serving metrics on a separate port');
    },
    async stop() {
      const open = server;
      server = null;
      if (open === null) return;
      open.closeAllConnections();
      await new Promise<void>((resolve) => open.close(() => resolve()));
    },
  };
}

async function answer(
  { metrics, checkReady }: Pick<Appliance, 'metrics' | 'checkReady'>,
  method: string,
  url: string,
  res: ServerResponse,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') return reply(res, 405, 'text/plain', 'only GET\n');
  switch (url.split('?', 1)[0]) {
    case '/metrics':
      return reply(res, 200, metrics.registry.contentType, await metrics.registry.metrics());
    case '/healthz':
      return reply(res, 200, 'application/json', '{"status":"ok"}');
    case '/readyz': {
      const readiness = await checkReady();
      return reply(res, readiness.status === 'down' ? 503 : 200, 'application/json', JSON.stringify(readiness));
    }
    default:
      return reply(res, 404, 'text/plain', 'this port serves /metrics, /healthz and /readyz\n');
  }
}

function reply(res: ServerResponse, status: number, type: string, body: string): void {
  if (res.headersSent) return;
  res.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  res.end(body);
}

/** @throws AppError `metrics_port_unusable` (500) */
function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error) => {
      const message = `the port for metrics, ${host}:${port}, cannot be listened on (${cause.message}); give each process on this machine its own port with SERVICE_METRICS_PORT, or remove the setting metrics.port`;
      reject(new AppError({ code: 'metrics_port_unusable', status: 500, message, cause }));
    };
    server.once('error', onError);
    server.listen({ host, port }, () => {
      server.off('error', onError);
      resolve();
    });
  });
}
