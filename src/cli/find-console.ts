import { z } from 'zod';
import type { Config } from '../platform/config.ts';
import { consoleUrl } from './console-link.ts';
import { findOwnServer, noServer } from './own-server.ts';
import { parseRequest } from './parse-request.ts';

/**
 * Find the address of the web console: that of the server `url`, else of the settings, else of the server of the data
 * directory.
 *
 * @throws AppError `invalid_request` if `url` isn't a valid address, or if no server is found
 */
export async function findConsole(
  url: string | undefined,
  config: Pick<Config, 'baseUrl' | 'dataDir'>,
): Promise<string> {
  const given = parseRequest(z.object({ url: z.url({ protocol: /^https?$/ }).optional() }), { url });
  const server = given.url ?? config.baseUrl ?? (await findOwnServer(config.dataDir));
  if (server === null) throw noServer(config.dataDir);
  return consoleUrl(server);
}
