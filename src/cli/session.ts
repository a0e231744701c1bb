import { readFile } from 'node:fs/promises';
import type { Appliance } from '../appliance/appliance.ts';
import { askServer, findServers } from '../operations/ask-server.ts';
import type { OperationInput, OperationName, OperationOutput } from '../operations/registry.ts';
import { OTHER_VERSION, type Request, readReply, UNKNOWN_OPERATION } from '../operations/wire.ts';
import { configFileOf, dataDirOf } from '../platform/environment.ts';
import { AppError } from '../platform/errors.ts';
import { osUserName } from '../platform/os-user.ts';
import { nameFault } from './name-fault.ts';

/** Names of input fields as they are typed, for messages: arguments (`QUERY`), and flags that have another name. */
export type FieldNames = Readonly<Record<string, string>>;

/** Place where the operations of one command run: the running server of the data directory, or this process. */
export interface Session {
  /**
   * Run an operation. Its output is the same at both places.
   *
   * @throws AppError `invalid_request` (400) that names the flag or the argument, and those of the operation
   */
  call<Name extends OperationName>(
    name: Name,
    input: OperationInput<Name>,
    names?: FieldNames,
  ): Promise<OperationOutput<Name>>;
  /** Open the installation in this process, for work that a server does not do for a command, such as waiting. */
  open(): Promise<Appliance>;
}

export interface SessionOptions {
  /** Data directory as the command line names it; null for that of the settings. */
  readonly dataDir: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  readonly org: string;
  readonly signal: AbortSignal;
  /** Open the installation in this process; called once at most. */
  readonly openAppliance: () => Promise<Appliance>;
}

/** Open a session. It asks the running server; only if there is none, it opens the installation at the first call. */
export function openSession(options: SessionOptions): Session {
  const osUser = osUserName();
  const { org, signal } = options;
  let opened: Promise<Appliance> | null = null;
  const open = () => {
    opened ??= options.openAppliance();
    return opened;
  };
  const inProcess = async (operation: string, input: unknown): Promise<unknown> => {
    const { prepareOperation } = await import('../operations/run-operation.ts');
    const prepared = await prepareOperation(operation, input);
    return prepared.run({ appliance: await open(), org, osUser, signal });
  };
  const run = async (operation: string, input: unknown): Promise<unknown> => {
    if (opened !== null) return inProcess(operation, input);
    const request = { version: options.version, operation, input, org, osUser };
    const asked = await askAnyServer(options, request);
    return asked === null ? inProcess(operation, input) : asked.result;
  };
  return {
    open,
    async call(name, input, names = {}) {
      try {
        return (await run(name, input)) as OperationOutput<typeof name>;
      } catch (error) {
        throw nameFault(error, names);
      }
    },
  };
}

/** Ask the servers of the data directory, the newest first; null if none of them runs. */
async function askAnyServer(
  { dataDir, env, version, signal }: SessionOptions,
  request: Request,
): Promise<{ readonly result: unknown } | null> {
  const directory = await findDataDir(dataDir, env);
  for (const server of findServers(directory, env, version)) {
    const reply = await askServer(server, request, signal);
    if (reply === null) continue;
    try {
      return { result: readReply(reply) };
    } catch (error) {
      const isOther = error instanceof AppError && [UNKNOWN_OPERATION, OTHER_VERSION].includes(error.code);
      if (!isOther) throw error;
    }
  }
  return null;
}

/** Return the data directory; the settings are loaded only if service.yaml names another one. */
async function findDataDir(given: string | null, env: NodeJS.ProcessEnv): Promise<string> {
  const dataDir = given ?? dataDirOf(env);
  const text = await readFile(configFileOf(env, dataDir), 'utf8').catch(() => '');
  if (!text.includes('data_dir')) return dataDir;
  const { loadConfig } = await import('../platform/config.ts');
  return loadConfig({ env, overrides: { data_dir: given ?? undefined } }).dataDir;
}
