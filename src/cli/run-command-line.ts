import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { getSystemErrorMessage } from 'node:util';
import type { Interfaces } from '@oclif/core';
import { commandNameOf, processEnvironment } from '../platform/environment.ts';
import { asksForHelp, type Project, showHelp } from './show-help.ts';

/**
 * Run one command line. Commands report their own failures (`BaseCommand`). This function reports failures before a
 * command runs: an unknown command, or one that can't be loaded. oclif.manifest.json saves oclif from loading every
 * command. A command missing from the manifest may be newer, so oclif then searches the sources.
 *
 * @param root folder of package.json
 * @param argv without the executable and the script
 */
export async function runCommandLine(root: URL, argv: readonly string[]): Promise<void> {
  process.stdout.off('error', endUnlessClosed).on('error', endUnlessClosed);
  if (argv[0] === '--version') return printVersion(root);
  const options = { root: fileURLToPath(root), pjson: readProject(root) };
  try {
    if (asksForHelp(argv) && (await showHelp(root, options.pjson, argv))) return;
    await runOnce({ ...options, ...withoutPlugins(options.pjson, argv) }, argv);
  } catch (error) {
    const { isKnownCommand, reportUnstarted } = await import('./unstarted-command.ts');
    if (await isKnownCommand(options, argv)) return reportUnstarted(options, argv, error);
    const sources = { ...options, ignoreManifest: true };
    await runOnce(sources, argv).catch((last: unknown) => reportUnstarted(sources, argv, last));
  }
}

/** Print the version as oclif would. Loading oclif for this takes three times as long as starting Node.js. */
function printVersion(root: URL): void {
  const { name, version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`);
}

/**
 * Exit if the output can't be written, since nothing that a command does later would be seen. A closed pipe, as with
 * `head`, isn't a failure.
 */
function endUnlessClosed(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(
    `${commandNameOf(processEnvironment()) ?? 'service'}: the output cannot be written: ${getSystemErrorMessage(error.errno ?? 0)}\n`,
  );
  process.exit(1);
}

/** Read package.json, with the program name that the user typed. */
function readProject(root: URL): Project {
  const pjson = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const names: string[] = [pjson.oclif.bin, ...pjson.oclif.binAliases];
  const called = commandNameOf(processEnvironment()) ?? '';
  const bin = names.includes(called) ? called : pjson.oclif.bin;
  // oclif derives variables such as SERVICE_JSON from the name and the aliases.
  return { ...pjson, oclif: { ...pjson.oclif, bin, binAliases: names.filter((name) => name !== bin) } };
}

/** Plugin commands. For other commands, skip the plugin search, which takes as long as loading oclif. */
const PLUGIN_COMMANDS = ['autocomplete', 'help'];

/** Return options that keep oclif from loading plugins, unless the command line starts with a plugin command. */
function withoutPlugins(pjson: Project, [first = '']: readonly string[]): Partial<Interfaces.Options> {
  if (PLUGIN_COMMANDS.includes(first)) return {};
  return { pjson: { ...pjson, oclif: { ...pjson.oclif, plugins: [] } }, userPlugins: false, devPlugins: false };
}

/**
 * Settles if the reader closes the output (`| head`). oclif waits for the output to drain, which then never happens.
 */
let outputIsClosed: Promise<void> | null = null;

async function runOnce(options: Interfaces.LoadOptions, argv: readonly string[]): Promise<void> {
  // `--help` needs these parts of oclif. Its index would load half as much again.
  const { ExitError } = await import('@oclif/core/errors');
  const { flush } = await import('@oclif/core/flush');
  const { run } = await import('@oclif/core/run');
  outputIsClosed ??= new Promise<void>((resolve) => {
    process.stdout.on('error', () => resolve());
  });
  try {
    await run([...argv], options);
    await Promise.race([flush(), outputIsClosed]);
  } catch (error) {
    // oclif ends a command that has printed its help with this error.
    if (!(error instanceof ExitError)) throw error;
    process.exitCode = error.oclif.exit ?? 1;
  }
}
