import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Appliance } from '../appliance/appliance.ts';
import type { Installation } from '../appliance/open-installation.ts';
import { askServer, findServers } from '../operations/ask-server.ts';
import type { OperationInput, OperationName, OperationOutput } from '../operations/registry.ts';
import type { Outcome } from '../operations/run-operation.ts';
import { OTHER_VERSION, readReply, UNKNOWN_OPERATION } from '../operations/wire.ts';
import { configFileOf, dataDirOf } from '../platform/environment.ts';
import { AppError } from '../platform/errors.ts';
import { osUserName } from '../platform/os-user.ts';
import { nameFault } from './name-fault.ts';

/** Input fields as users type them, for messages: arguments (`QUERY`), and flags with different names. */
export type FieldNames = Readonly<Record<string, string>>;

/** Place where a command's operations run: in the running server of the data directory, or in this process. */
export interface Session {
  /**
   * Run an operation. Its output is the same in the server and in this process.
   *
   * @throws AppError `invalid_request` (400) that names the flag or the argument, and errors of the operation
   */
  call<Name extends OperationName>(
    name: Name,
    input: OperationInput<Name>,
    names?: FieldNames,
  ): Promise<OperationOutput<Name>>;
  /** Run an operation that takes bytes. `openBody` opens them when they are sent. */
  send<Name extends OperationName>(
    name: Name,
    input: OperationInput<Name>,
    openBody: () => Readable,
  ): Promise<OperationOutput<Name>>;
  /** Run an operation that returns bytes besides its output. The caller reads or destroys them. */
  receive<Name extends OperationName>(
    name: Name,
    input: OperationInput<Name>,
  ): Promise<{ readonly output: OperationOutput<Name>; readonly body: Readable }>;
  /** Open the whole installation in this process, for work that a server doesn't do for commands, such as waiting. */
  open(): Promise<Appliance>;
}

export interface SessionOptions {
  /** Data directory from the command line; null for the one in the settings. */
  readonly dataDir: string | null;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  readonly org: string;
  readonly signal: AbortSignal;
  /** Open the installation in this process. Called at most once. */
  readonly openInstallation: () => Promise<Installation>;
}

type OpenBody = (() => Readable) | null;

/** Open a session. It uses the running server. Without one, it opens the installation on the first call. */
export function openSession(options: SessionOptions): Session {
  const osUser = osUserName();
  const { org, signal } = options;
  let opened: Promise<Installation> | null = null;
  const openHere = () => {
    opened ??= options.openInstallation();
    return opened;
  };
  const inProcess = async (operation: string, input: unknown, openBody: OpenBody): Promise<Outcome> => {
    const { prepareOperation } = await import('../operations/run-operation.ts');
    const prepared = await prepareOperation(operation, input);
    const installation = await openHere();
    return prepared.run({ installation, org, osUser, signal, closing: signal, body: openBody?.() ?? null });
  };
  const runAnywhere = async (operation: string, input: unknown, openBody: OpenBody): Promise<Outcome> => {
    if (opened !== null) return inProcess(operation, input, openBody);
    const request = { version: options.version, operation, input, org, osUser };
    return (await askAnyServer(options, request, openBody)) ?? inProcess(operation, input, openBody);
  };
  const run = (operation: string, input: unknown, names: FieldNames = {}, openBody: OpenBody = null) =>
    runAnywhere(operation, input, openBody).catch((error: unknown) => {
      throw nameFault(error, names);
    });
  return {
    async open() {
      const { completeAppliance } = await import('../appliance/open-appliance.ts');
      return completeAppliance(await openHere());
    },
    async call(name, input, names) {
      return (await run(name, input, names)).result as OperationOutput<typeof name>;
    },
    async send(name, input, openBody) {
      return (await run(name, input, {}, openBody)).result as OperationOutput<typeof name>;
    },
    async receive(name, input) {
      const { result, body } = await run(name, input);
      if (body === null) throw new Error(`the operation ${name} sends no bytes`);
      return { output: result as OperationOutput<typeof name>, body };
    },
  };
}

/** Ask the servers of the data directory, newest first. Return null if none runs. */
async function askAnyServer(
  { dataDir, env, version, signal }: SessionOptions,
  request: Parameters<typeof askServer>[1],
  openBody: OpenBody,
): Promise<Outcome | null> {
  const directory = await findDataDir(dataDir, env);
  for (const server of findServers(directory, env, version)) {
    const answer = await askServer(server, request, signal, openBody);
    if (answer === null) continue;
    try {
      return { result: readReply(answer.reply), body: answer.body };
    } catch (error) {
      const isOther = error instanceof AppError && [UNKNOWN_OPERATION, OTHER_VERSION].includes(error.code);
      if (!isOther) throw error;
    }
  }
  return null;
}

/** Return the data directory. Load the settings only if they could name another one. */
async function findDataDir(given: string | null, env: NodeJS.ProcessEnv): Promise<string> {
  const dataDir = given ?? dataDirOf(env);
  const text = await readFile(configFileOf(env, dataDir), 'utf8').catch(() => '');
  if (!text.includes('data_dir')) return dataDir;
  const { loadConfig } = await import('../platform/config.ts');
  const overrides = { data_dir: given ?? undefined };
  return loadConfig({ env, overrides, omitsIncompleteProviders: true }).dataDir;
}
