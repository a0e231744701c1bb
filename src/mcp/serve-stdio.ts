import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import type { Logger } from '../platform/logger.ts';
import type { Secret } from '../platform/secret.ts';
import type { ToolServerSettings } from '../platform/tool-server-settings.ts';
import { openToolServer } from './tool-server.ts';

const SESSION = 'stdio';

/** Serve one client over a pair of streams until it closes them or the signal is aborted. */
export async function serveStdio(
  settings: ToolServerSettings & { readonly apiKey: Secret },
  options: {
    readonly input: Readable;
    readonly output: Writable;
    readonly logger: Logger;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { input, output, logger, signal } = options;
  const server = openToolServer(settings, logger);
  const api = server.apiOf(settings.apiKey);
  const session = {
    ownerId: SESSION,
    api,
    results: server.results.of(SESSION),
    approvals: 'form' as const,
  };
  const transport = new StdioServerTransport(input, output, { maxBufferSize: settings.messageBytesMax });
  const ended = new Promise<void>((resolve) => {
    input.once('close', resolve).once('end', resolve);
    output.once('close', resolve).on('error', () => resolve());
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const handle = serve(() => server.serverFor(session), {
    transport,
    onerror: (error) => logger.warn({ err: error }, 'stdio'),
  });
  api.me(AbortSignal.any([signal, AbortSignal.timeout(10_000)])).then(
    (me) => logger.info({ org: me.org.name, kind: me.kind, scopes: me.scopes }, 'the API knows the key'),
    (error: unknown) => {
      if (!signal.aborted) logger.warn({ err: error }, 'the API did not accept the key, or cannot be reached');
    },
  );
  await ended;
  await handle.close();
  await server.close();
}
