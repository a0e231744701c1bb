import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { getSystemErrorMessage } from 'node:util';
import type { Interfaces } from '@oclif/core';
import { commandNameOf, processEnvironment } from '../platform/environment.ts';
import { asksForHelp, type Project, showHelp } from './show-help.ts';

/**
 * Run one command line. Commands report their own failures (`BaseCommand`). This function reports failures before a
 * command runs: an unknown command, or one that cannot be loaded.
 *
 * oclif.manifest.json spares oclif the loading of every command. If the manifest lacks a command, it may be newer than
 * the manifest, so oclif searches the sources.
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

/** Print the version as oclif does. Loading oclif for it takes three times as long as starting Node.js. */
function printVersion(root: URL): void {
  const { name, version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  process.stdout.write(`${name}/${version} ${process.platform}-${process.arch} node-${process.version}\n`);
}

/**
 * End the process if the output cannot be written, since nothing that a command does later would be seen. A reader that
 * has left, as `head` does, is no failure.
 */
function endUnlessClosed(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(
    `${commandNameOf(processEnvironment()) ?? 'service'}: the output cannot be written: ${getSystemErrorMessage(error.errno ?? 0)}\n`,
  );
  process.exit(1);
}

/** Read package.json. The program takes the name by which the user called it. */
function readProject(root: URL): Project {
  const pjson = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const names: string[] = [pjson.oclif.bin, ...pjson.oclif.binAliases];
  const called = commandNameOf(processEnvironment()) ?? '';
  const bin = names.includes(called) ? called : pjson.oclif.bin;
  // oclif reads variables such as SERVICE_JSON by the name and the aliases.
  return { ...pjson, oclif: { ...pjson.oclif, bin, binAliases: names.filter((name) => name !== bin) } };
}

/** Commands of plugins. For other commands oclif skips the search for plugins, which takes as long as loading oclif. */
const PLUGIN_COMMANDS = ['autocomplete', 'help'];

/** Return options with which oclif loads no plugins, unless the command line begins with a plugin command. */
function withoutPlugins(pjson: Project, [first = '']: readonly string[]): Partial<Interfaces.Options> {
  if (PLUGIN_COMMANDS.includes(first)) return {};
  return { pjson: { ...pjson, oclif: { ...pjson.oclif, plugins: [] } }, userPlugins: false, devPlugins: false };
}

/**
 * Settles if the reader closes the output (`| head`). oclif waits for the output to drain, which then never happens.
 */
let outputIsClosed: Promise<void> | null = null;

async function runOnce(options: Interfaces.LoadOptions, argv: readonly string[]): Promise<void> {
  // `--help` needs these parts of oclif; its index loads half as much again.
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
