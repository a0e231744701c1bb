import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import { challengeOf } from './authenticate.ts';

const METHODS = 'GET, POST, DELETE, OPTIONS';
const READABLE_HEADERS = 'Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate';

/**
 * Let a web page of an allowed origin read the response (CORS).
 * @returns true if the request was only a preflight, which this function answered
 */
export function allowOrigin(req: IncomingMessage, res: ServerResponse): boolean {
  const { origin } = req.headers;
  if (origin !== undefined) {
    res.setHeader('Access-Control-Allow-Origin', origin);
    res.setHeader('Access-Control-Expose-Headers', READABLE_HEADERS);
    res.setHeader('Vary', 'Origin');
  }
  if (req.method !== 'OPTIONS') return false;
  res.setHeader('Allow', METHODS);
  if (origin !== undefined) {
    res.setHeader('Access-Control-Allow-Methods', METHODS);
    res.setHeader('Access-Control-Allow-Headers', req.headers['access-control-request-headers'] ?? '*');
    res.setHeader('Access-Control-Max-Age', '600');
  }
  res.writeHead(204).end();
  return true;
}

export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

export interface RefusalContext {
  readonly logger: Logger;
  /** URL of this tool server's metadata; null if people don't sign in. */
  readonly metadataUrl: string | null;
}

/** Convert an error to the protocol's form. Log an error that isn't an AppError, and don't send its details. */
export function refusalOf(error: unknown, { logger, metadataUrl }: RefusalContext): Response {
  const known = error instanceof AppError ? error : null;
  if (known === null) logger.error({ err: error }, 'request failed');
  const { status, retryAfterSeconds } = known ?? { status: 500 };
  const code = known?.code === 'json_invalid' ? -32700 : -32000;
  return Response.json(
    { jsonrpc: '2.0', error: { code, message: known?.message ?? 'internal error' }, id: null },
    {
      status,
      headers: {
        ...(known !== null && isChallenge(known) ? { 'WWW-Authenticate': challengeOf(known, metadataUrl) } : {}),
        ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }),
      },
    },
  );
}

function isChallenge({ status, code }: AppError): boolean {
  return status === 401 || code === 'insufficient_scope';
}

/** Send an error, unless the client has disconnected or a response has begun. */
export async function sendRefusal(res: ServerResponse, error: unknown, context: RefusalContext): Promise<void> {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const refusal = refusalOf(error, context);
  for (const [name, value] of refusal.headers) res.setHeader(name, value);
  res.writeHead(refusal.status).end(await refusal.text());
}
