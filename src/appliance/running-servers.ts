import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { Config } from '../platform/config.ts';
import { livenessOf, ownIdentity, ProcessIdentity } from '../platform/embedded-postgres/process-identity.ts';
import { AppError } from '../platform/errors.ts';
import { probeHere } from '../platform/probe-here.ts';
import { type OperatorAccess, serversFolder } from './server-record.ts';

const PROBE_MS = 2_000;

/** Record of a server in its data directory. */
const RunningServer = z.object({ url: z.string(), started_at: z.string(), process: ProcessIdentity });
export type RunningServer = z.infer<typeof RunningServer>;

/**
 * Write the address of this server and of its operator socket into the data directory. Only the owner of the directory
 * can read the record. Return a function that removes it.
 */
export async function recordServer(
  dataDir: string,
  { url, operator }: { readonly url: string; readonly operator: OperatorAccess },
): Promise<() => Promise<void>> {
  const folder = serversFolder(dataDir);
  const file = path.join(folder, `${process.pid}.json`);
  const record: RunningServer = { url, started_at: new Date().toISOString(), process: await ownIdentity() };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const part = `${file}.part`;
  await writeFile(part, `${JSON.stringify({ ...record, operator })}\n`, { mode: 0o600 });
  await rename(part, file);
  return () => rm(file, { force: true });
}

/** List the other servers on the data directory, and remove the records of killed ones. */
export async function findOtherServers(dataDir: string): Promise<RunningServer[]> {
  const folder = serversFolder(dataDir);
  const servers: RunningServer[] = [];
  const all = await readdir(folder).catch(() => []);
  for (const name of all.filter((each) => each.endsWith('.json'))) {
    const file = path.join(folder, name);
    const server = await readFile(file, 'utf8').then(
      (text) => RunningServer.safeParse(safeJson(text)).data ?? null,
      () => null,
    );
    const liveness = server === null ? 'dead' : await livenessOf(server.process);
    if (liveness === 'dead') {
      const sockets = all.filter((each) => each.startsWith(`${path.parse(name).name}-`));
      for (const each of [name, ...sockets]) await rm(path.join(folder, each), { force: true }).catch(() => undefined);
    }
    if (liveness !== 'dead' && server !== null && server.process.pid !== process.pid) servers.push(server);
  }
  return servers;
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Refuse to serve as root from another user's data directory, since that user's service cannot read files that root
 * creates.
 *
 * @throws AppError `data_dir_foreign` (409)
 */
export async function refuseForeignDataDir(dataDir: string): Promise<void> {
  const found = await stat(dataDir).catch(() => null);
  if (found === null || process.getuid?.() !== 0 || found.uid === 0) return;
  throw new AppError({
    code: 'data_dir_foreign',
    status: 409,
    message: `the data directory ${dataDir} belongs to user id ${found.uid}, whose service could not read what root writes into it; run the command as that user (sudo -u '#${found.uid}' …), or choose another directory with --data-dir`,
  });
}

/** If the port is in use, explain by which program. Return any other error unchanged. */
export async function explainPortInUse(
  error: unknown,
  config: Pick<Config, 'dataDir' | 'host' | 'port'>,
): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== 'cannot_listen') return error;
  if ((error.cause as NodeJS.ErrnoException | undefined)?.code !== 'EADDRINUSE') return error;
  const where = `${config.host} port ${config.port}`;
  const choose = 'choose another port with --port (SERVICE_PORT)';
  const own = (await findOtherServers(config.dataDir)).find(({ url }) => new URL(url).port === String(config.port));
  if (own !== undefined) {
    const pid = own.process.pid;
    return cannotListen(
      `${where} is in use by the server of this data directory (process ${pid}, since ${own.started_at}); use it at ${own.url}, stop it, or ${choose}`,
      error,
    );
  }
  if (!(await isService(config)))
    return cannotListen(`${where} is already in use by another program; stop it, or ${choose}`, error);
  return cannotListen(
    `${where} is in use by another installation of the service, with another data directory than ${config.dataDir}; use that one (name its folder with --data-dir), or ${choose}`,
    error,
  );
}

/** Return true if the listening program responds like this service. */
async function isService({ host, port }: Pick<Config, 'host' | 'port'>): Promise<boolean> {
  const address = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  try {
    const { headers, body } = await probeHere(`http://${address}:${port}/healthz`, PROBE_MS);
    return headers['x-request-id'] !== undefined && body.includes('"status":"ok"');
  } catch {
    return false;
  }
}

function cannotListen(message: string, cause: AppError): AppError {
  return new AppError({ code: 'cannot_listen', status: 500, message, cause: cause.cause });
}
