import { fileURLToPath } from 'node:url';
import { Config, Errors, flush, run } from '@oclif/core';
import { findNearest } from '../platform/nearest-word.ts';
import { describeFailure, EXIT } from './exit-codes.ts';
import { printFailure, wantsJson } from './output.ts';

/**
 * Run one command line. Commands report their own failures (`BaseCommand`); this covers what comes before one of
 * them is running: no such command, or a command that cannot be loaded.
 *
 * @param root the folder of package.json
 * @param argv without the executable and the script
 */
export async function runCommandLine(root: URL, argv: readonly string[]): Promise<void> {
  const directory = fileURLToPath(root);
  try {
    await run([...argv], directory);
    await flush();
  } catch (error) {
    // How oclif ends a command that has printed its help.
    if (error instanceof Errors.ExitError) {
      process.exitCode = error.oclif.exit ?? EXIT.fault;
      return;
    }
    const config = await Config.load(directory);
    const words = wordsOf(argv);
    const failure = findCommand(config, words)
      ? describeFailure(error)
      : { exitCode: EXIT.usage, code: 'usage', message: unknownCommand(config, words) };
    printFailure(failure, { json: wantsJson(config, argv), bin: config.bin, help: `${config.bin} --help` });
  }
}

/** What stands before the first flag: the command's name, and perhaps arguments. */
function wordsOf(argv: readonly string[]): string[] {
  const end = argv.findIndex((arg) => arg.startsWith('-'));
  return argv.slice(0, end === -1 ? undefined : end);
}

function findCommand(config: Config, words: readonly string[]): boolean {
  return words.some((_, index) => config.findCommand(words.slice(0, index + 1).join(':')) !== undefined);
}

function unknownCommand(config: Config, words: readonly string[]): string {
  if (words.length === 0) return 'the command comes first, then its flags';
  const names = config.commandIDs.map((id) => id.replaceAll(':', ' '));
  const typed = words.slice(0, 2).join(' ');
  const nearest = findNearest(typed, names) ?? findNearest(words[0] as string, names);
  return `there is no command "${typed}"${nearest === null ? '' : `; did you mean "${nearest}"?`}`;
}
