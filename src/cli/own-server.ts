import { findOtherServers } from '../appliance/running-servers.ts';
import { AppError } from '../platform/errors.ts';

/** Find the address of the (newest) server running on a data directory; null if there is none. */
export async function findOwnServer(dataDir: string): Promise<string | null> {
  const servers = await findOtherServers(dataDir);
  return servers.toSorted((a, b) => a.started_at.localeCompare(b.started_at)).at(-1)?.url ?? null;
}

/** Create the error 503 for a command that needs a running server. */
export function noServer(dataDir: string): AppError {
  return new AppError({
    code: 'server_unreachable',
    status: 503,
    message: `no server runs on the data directory ${dataDir}; start one with "service serve", or name another server with --url`,
  });
}
