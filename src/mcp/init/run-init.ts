import { invalidRequest } from '../../platform/errors.ts';
import { findNearest } from '../../platform/nearest-word.ts';
import { loadToolServerSettings } from '../../platform/tool-server-settings.ts';
import { CLIENTS, type ClientConfiguration, type ClientName, configureClient, withKey } from './clients.ts';
import { writeConfigFile } from './write-config-file.ts';

/** Flags of `service-mcp init`. */
export interface InitFlags {
  readonly client?: string;
  readonly bucket?: string;
  readonly 'server-url'?: string;
  readonly 'sign-in'?: boolean;
  readonly write?: boolean;
  readonly 'dry-run'?: boolean;
  readonly config?: string;
  readonly name?: string;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Environment of a command line. */
export interface CommandIo {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly folder: string;
  /** Write to standard output. */
  readonly print: (text: string) => void;
  /** Write lines to standard error. */
  readonly note: (...lines: readonly string[]) => void;
}

/**
 * Print the configuration of a client, or write it into the client's file. Print only the JSON to standard output, and
 * notes to standard error. Never print a key.
 * @param program program that the client starts
 * @throws AppError 400, and the errors of `writeConfigFile`
 */
export async function runInit(flags: InitFlags, program: string, io: CommandIo): Promise<void> {
  const settings = loadToolServerSettings({ env: io.env });
  const name = flags.name ?? 'service';
  if (!NAME.test(name)) throw invalidRequest('--name: must be 1 to 64 characters of A-Z a-z 0-9 _ -', 'name');
  const configuration = configureClient(
    {
      client: clientOf(flags.client),
      bucket: flags.bucket ?? settings.defaultBucket,
      serverUrl: flags['server-url'] ?? null,
      signIn: flags['sign-in'] === true || settings.signIn,
      name,
      apiBaseUrl: settings.api.baseUrl,
      command: program,
    },
    io,
  );
  if (!flags.write && !flags['dry-run']) {
    io.print(`${JSON.stringify(configuration.document, null, 2)}\n`);
    return io.note(...configuration.notes);
  }
  const apiKey = settings.apiKey?.reveal() ?? null;
  await write(configuration, io, { name, apiKey, config: flags.config ?? null, dryRun: flags['dry-run'] === true });
}

async function write(
  configuration: ClientConfiguration,
  io: CommandIo,
  options: {
    readonly name: string;
    readonly apiKey: string | null;
    readonly config: string | null;
    readonly dryRun: boolean;
  },
): Promise<void> {
  const { name, apiKey, dryRun } = options;
  const { section } = configuration;
  const file = options.config ?? configuration.file;
  if (configuration.entry === null) {
    throw invalidRequest(
      '--write: this client reads no file; leave out --write, and enter the printed text in the client',
      'write',
    );
  }
  if (file === null) throw invalidRequest('--write: say with --config which file this client reads', 'config');
  const entry = withKey(configuration.entry, apiKey);
  const { changed, isNew } = await writeConfigFile(file, { section, name, entry, dryRun });
  if (!changed) return io.note(`${file} already has this entry; nothing was changed.`);
  const done = isNew ? ['Created', 'Would create'] : ['Changed', 'Would change'];
  io.note(`${done[dryRun ? 1 : 0]} ${file}: the entry "${name}" below "${section}".`);
  if (dryRun) io.print(`${JSON.stringify(configuration.document, null, 2)}\n`);
  if (entry === configuration.entry && JSON.stringify(entry).includes('<')) {
    io.note('Replace the text in <...>. If SERVICE_API_KEY is set, this command writes the key itself.');
  }
  io.note(...configuration.notes.slice(1));
}

function clientOf(name: string | undefined): ClientName {
  const client = CLIENTS.find((known) => known === name);
  if (client !== undefined) return client;
  const nearest = name === undefined ? null : findNearest(name, CLIENTS);
  const hint = nearest === null ? `one of ${CLIENTS.join(', ')}` : `did you mean ${nearest}?`;
  throw invalidRequest(
    name === undefined ? `--client is missing: ${hint}` : `--client: there is no client ${name}; ${hint}`,
  );
}
