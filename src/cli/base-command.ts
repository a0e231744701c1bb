import { Command, Errors, Flags } from '@oclif/core';
import type { Caller } from '../access/caller.ts';
import type { Appliance } from '../appliance/appliance.ts';
import type { Installation, InstallationOptions } from '../appliance/open-installation.ts';
import type { OperationInput, OperationName, OperationOutput } from '../operations/registry.ts';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import { untilInterrupted } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { describeFailure, type Failure, withoutHelpHint } from './exit-codes.ts';
import { withVariables } from './flags.ts';
import {
  hasScreen,
  hasSwitch,
  note,
  printCommandsAs,
  printFailure,
  printJson,
  printLine,
  setQuiet,
  wantsJson,
} from './output.ts';
import type { FieldNames, Session } from './session.ts';
import type { Column } from './table.ts';
import { describeUsageFault } from './usage-fault.ts';

/** Maximum connections of a command, including a worker inside it. */
const COMMAND_POOL_MAX = 8;

/** Parsed flags common to every command. */
export interface BaseFlags {
  readonly 'data-dir'?: string | undefined;
}

/** Parsed flags of a command that runs operations. */
export interface SessionFlags extends BaseFlags {
  readonly org?: string;
}

/** Options for commands that need an installation opened differently. */
export interface ApplianceOptions {
  /** Settings that override the file and the environment, keyed as in service.yaml. */
  readonly settings?: Record<string, unknown>;
  /** True for a long-running process, which takes its log level and number of connections from the settings. */
  readonly isService?: boolean;
  /** True to leave the embedded PostgreSQL running for some seconds, so that the next command starts faster. */
  readonly isShort?: boolean;
}

/**
 * Base of every command. Handles `--json` (exactly one document on stdout), `--data-dir`, exit codes and error
 * messages, and opens and closes the local installation. A command itself only parses, calls one operation and prints.
 *
 * oclif loads all command files if its manifest doesn't list the command, so commands import heavy modules in `run`.
 */
export abstract class BaseCommand extends Command {
  /** True if this command sets up a missing installation. Otherwise it refuses, since the folder may be misspelt. */
  static setsUp = false;
  /**
   * True for commands that need every configured provider. Other commands ignore providers whose keys aren't in the
   * environment, for example in a shell on a host where only the server has them.
   */
  static needsProviders = false;
  static override enableJsonFlag = true;
  static override baseFlags = withVariables({
    'data-dir': Flags.directory({ description: 'folder where the installation keeps its data', helpGroup: 'GLOBAL' }),
    json: Flags.boolean({ description: 'print one JSON document on stdout and nothing else', helpGroup: 'GLOBAL' }),
    quiet: Flags.boolean({
      description: 'print the result and errors only: no progress, notes or warnings',
      helpGroup: 'GLOBAL',
    }),
  });

  override jsonEnabled(): boolean {
    return wantsJson(this.config, this.argv);
  }

  override async init(): Promise<void> {
    await super.init();
    setQuiet(hasSwitch(this.config, this.argv, 'quiet'));
    const words = new Set(this.config.commandIDs.map((id) => id.split(':')[0] ?? id));
    printCommandsAs(await this.typedCommand(), [...words]);
  }

  /** Return the program as the user typed it (such as `bin/service`), for commands shown in messages. */
  protected async typedCommand(): Promise<string> {
    const { commandPathOf, processEnvironment } = await import('../platform/environment.ts');
    return commandPathOf(processEnvironment()) ?? this.config.bin;
  }

  /** Print a line of the result; nothing with `--json`. oclif's own method would ignore write errors on a full disk. */
  override log(message = ''): void {
    if (!this.jsonEnabled()) printLine(message);
  }

  override logToStderr(message = ''): void {
    if (!this.jsonEnabled()) note(message);
  }

  protected override logJson(json: unknown): void {
    printJson(json);
  }

  /** Print rows as a table for people, or one line on stderr if there are none. Prints nothing with `--json`. */
  protected async showTable<Row>(
    noun: string,
    rows: readonly Row[],
    columns: readonly Column<Row>[],
    hint?: string,
  ): Promise<void> {
    if (this.jsonEnabled()) return;
    const { renderTable } = await import('./table.ts');
    if (rows.length === 0) this.logToStderr(hint === undefined ? `no ${noun}` : `no ${noun}; ${hint}`);
    else this.log(renderTable(rows, columns));
  }

  /** Print the fields of one record for people. Prints nothing with `--json`. */
  protected async showFields(fields: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.jsonEnabled()) return;
    const { renderFields } = await import('./table.ts');
    this.log(renderFields(fields));
  }

  /** Load the settings of the local installation, overridden by this command's flags (keys as in service.yaml). */
  protected async loadSettings(flags: BaseFlags, settings: Record<string, unknown> = {}): Promise<Config> {
    const { loadConfig } = await import('../platform/config.ts');
    const { needsProviders } = this.constructor as typeof BaseCommand;
    const overrides = { data_dir: flags['data-dir'], ...settings };
    return loadConfig({ overrides, omitsIncompleteProviders: !needsProviders });
  }

  /**
   * Open the log of a command, or of a service at a terminal: from level `warn` instead of `info`, with human-readable
   * lines instead of JSON.
   */
  protected async openCommandLogger(config: Config): Promise<Logger> {
    const { openLogger } = await import('../platform/logger.ts');
    if (config.logLevel !== 'info') return openLogger(config.logLevel);
    const { plainLogLine } = await import('./plain-log-line.ts');
    return openLogger('warn', { write: (line) => note(plainLogLine(line)) });
  }

  /**
   * Run this command's operations in the running server of the data directory. Without one, open the installation in
   * this process. Ctrl-C aborts the signal.
   *
   * @throws AppError `interrupted`, and what `use` throws
   */
  protected async withSession<T>(
    flags: SessionFlags,
    use: (session: Session, signal: AbortSignal) => Promise<T>,
    options: ApplianceOptions = {},
  ): Promise<T> {
    const { openSession } = await import('./session.ts');
    const { processEnvironment } = await import('../platform/environment.ts');
    const env = processEnvironment();
    return this.untilDone(async (signal) => {
      let opened: Installation | null = null;
      const openHere = async () => {
        const config = await this.#loadChecked(flags, options);
        const prepared = await this.#prepare(config, { ...options, isShort: true });
        const { openInstallation } = await import('../appliance/open-installation.ts');
        opened = await openInstallation(config, prepared);
        return opened;
      };
      const { version } = this.config;
      const dataDir = flags['data-dir'] ?? null;
      const org = flags.org ?? 'default';
      const session = openSession({ dataDir, env, version, org, signal, openInstallation: openHere });
      try {
        return await use(session, signal);
      } finally {
        await (opened as Installation | null)?.close();
      }
    });
  }

  /** Run one operation like `withSession`. @param names names of input fields as users type them, for messages */
  protected call<Name extends OperationName>(
    flags: SessionFlags,
    name: Name,
    input: OperationInput<Name>,
    names: FieldNames = {},
  ): Promise<OperationOutput<Name>> {
    return this.withSession(flags, (session) => session.call(name, input, names));
  }

  /**
   * Open the local installation, run `use`, and always close it again. Ctrl-C aborts the signal.
   *
   * @throws AppError `interrupted`, and what `openAppliance` and `use` throw
   */
  protected async withAppliance<T>(
    flags: BaseFlags,
    use: (appliance: Appliance, signal: AbortSignal) => Promise<T>,
    options: ApplianceOptions = {},
  ): Promise<T> {
    const config = await this.#loadChecked(flags, options);
    return this.untilDone(async (signal) => {
      const prepared = await this.#prepare(config, options);
      const { openAppliance } = await import('../appliance/open-appliance.ts');
      const appliance = await openAppliance(config, prepared);
      try {
        signal.throwIfAborted();
        return await use(appliance, signal);
      } finally {
        await appliance.close();
      }
    });
  }

  /** Load the settings. Refuse a missing installation unless this command sets one up. */
  async #loadChecked(flags: BaseFlags, { isService, settings }: ApplianceOptions = {}): Promise<Config> {
    // A command searches at most once, so don't load the index into memory.
    const own = isService ? {} : { search: { resident_mb: 0 } };
    const config = await this.loadSettings(flags, { ...own, ...settings });
    for (const omission of config.omissions) this.logToStderr(`warning: ${omission}`);
    if (!(await hasInstallation(config))) {
      if (!(this.constructor as typeof BaseCommand).setsUp) throw noInstallation(config);
      if (!isService) this.logToStderr(`making a new installation in ${config.dataDir}`);
    }
    return config;
  }

  /** Open the log, and start connecting to the database while the domains load. */
  async #prepare(config: Config, { isService, isShort }: ApplianceOptions): Promise<InstallationOptions> {
    const { findDatabase } = await import('../appliance/find-database.ts');
    const { openLogger } = await import('../platform/logger.ts');
    // At a terminal, even a service writes human-readable lines.
    const writesJson = isService && !hasScreen(process.stderr);
    const logger = writesJson ? openLogger(config.logLevel) : await this.openCommandLogger(config);
    const database = findDatabase(config, logger, { isShort: isShort ?? false });
    database.catch(() => undefined);
    return { logger, database, ...(isService ? {} : { poolMax: COMMAND_POOL_MAX }) };
  }

  /** Open the installation like `withAppliance`, and act as the operator for one organization. */
  protected withOperator<T>(
    flags: BaseFlags & { readonly org: string },
    use: (appliance: Appliance, operator: Caller, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.withAppliance(flags, async (appliance, signal) =>
      use(appliance, await appliance.access.operator(flags.org), signal),
    );
  }

  /** Open only the database, without migrating or creating anything. */
  protected async withDatabase<T>(flags: BaseFlags, use: (sql: Sql) => Promise<T>): Promise<T> {
    const config = await this.loadSettings(flags);
    return this.untilDone(async (signal) => {
      const { openDatabase } = await import('../appliance/stores.ts');
      const database = await openDatabase(config, await this.openCommandLogger(config));
      try {
        signal.throwIfAborted();
        return await use(database.sql);
      } finally {
        await database.close();
      }
    });
  }

  /**
   * Run work that opens its own resources. Ctrl-C aborts the signal.
   *
   * @throws AppError `interrupted`, and what `work` throws
   */
  protected async untilDone<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await untilInterrupted(work);
    } catch (error) {
      const { mapPostgresError } = await import('../platform/postgres.ts');
      throw mapPostgresError(error);
    }
  }

  protected override async catch(error: Error): Promise<void> {
    // oclif ends --help and --version with an error whose exit code is 0.
    if (error instanceof Errors.ExitError) throw error;
    // The reader closed the output on purpose, so this isn't a failure.
    if (error instanceof AppError && error.code === 'output_closed') return;
    const described = describeFailure(error);
    const failure = { ...described, message: await this.#messageOf(error, described) };
    const { bin } = this.config;
    printFailure(failure, {
      json: this.jsonEnabled(),
      bin,
      help: `${bin} ${this.id?.replaceAll(':', ' ')} --help`,
    });
    if (failure.code === 'internal' && process.stderr.isTTY) process.stderr.write(`${error.stack ?? ''}\n`);
  }

  /** Render a failure's message with the names that users of this command type. */
  async #messageOf(error: Error, { code, message }: Failure): Promise<string> {
    const { args, flags, baseFlags } = this.ctor;
    const { bin } = this.config;
    const shape = { name: `${bin} ${this.id?.replaceAll(':', ' ')}`, args, flags: { ...baseFlags, ...flags } };
    if (code === 'usage') return describeUsageFault(error, shape);
    if (!(error instanceof AppError)) return message;
    const { inCommandWords } = await import('./command-words.ts');
    return withoutHelpHint(inCommandWords(error, shape, bin));
  }
}

/** Return true if there is an installation, or a database that may contain one. */
async function hasInstallation(config: Config): Promise<boolean> {
  const { existsSync } = await import('node:fs');
  const { join } = await import('node:path');
  return config.databaseUrl !== null || existsSync(join(config.dataDir, 'postgres'));
}

function noInstallation({ dataDir }: Config): AppError {
  return new AppError({
    code: 'installation_not_found',
    status: 404,
    message: `there is no installation in ${dataDir}; set one up with "service serve", or name its folder with --data-dir`,
  });
}
