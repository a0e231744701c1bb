import { Config } from '@oclif/core/config';
import { findNearest } from '../platform/nearest-word.ts';
import { describeFailure, EXIT } from './exit-codes.ts';
import { printFailure, wantsJson } from './output.ts';
import { asksForHelp } from './show-help.ts';
import { describeUsageFault } from './usage-fault.ts';

/** Options for oclif to load the project. With `ignoreManifest`, it reads the command files. */
interface ProjectOptions {
  readonly root: string;
  readonly ignoreManifest?: boolean;
}

/** Return true if the command line begins with the name of a command. */
export async function isKnownCommand(options: ProjectOptions, argv: readonly string[]): Promise<boolean> {
  return nameOfCommand(await Config.load(options), wordsOf(argv)) !== null;
}

/** Print why no command could start: the name is unknown, or loading it failed with `error`. */
export async function reportUnstarted(options: ProjectOptions, argv: readonly string[], error: unknown): Promise<void> {
  const config = await Config.load(options);
  const words = wordsOf(argv);
  const known = nameOfCommand(config, words);
  const message = known === null ? unknownCommand(config, words) : surplusArguments(config, known, words, error);
  const failure = message === null ? describeFailure(error) : { exitCode: EXIT.usage, code: 'usage', message };
  const help = [config.bin, ...(known ?? []), '--help'].join(' ');
  printFailure(failure, { json: wantsJson(config, argv), bin: config.bin, help });
}

/** Return the words before the first flag: the command name and possibly arguments. */
function wordsOf(argv: readonly string[]): string[] {
  // As in show-help.ts, the words of a command may follow --help.
  if (asksForHelp(argv)) return argv.filter((arg) => !arg.startsWith('-'));
  const end = argv.findIndex((arg) => arg.startsWith('-'));
  return argv.slice(0, end === -1 ? undefined : end);
}

/** Return the first words that name a command, or null. */
function nameOfCommand(config: Config, words: readonly string[]): readonly string[] | null {
  const starts = words.map((_, index) => words.slice(0, index + 1));
  return starts.findLast((start) => config.findCommand(start.join(':')) !== undefined) ?? null;
}

/**
 * Describe arguments after a command that takes none, or return null for any other error. oclif would treat them as
 * part of the command's name and report an unknown command.
 */
function surplusArguments(
  config: Config,
  name: readonly string[],
  words: readonly string[],
  error: unknown,
): string | null {
  const surplus = words.slice(name.length);
  const isNotFound = error instanceof Error && /^command \S+ not found$/.test(error.message);
  if (!isNotFound || surplus.length === 0) return null;
  const { args, flags } = config.findCommand(name.join(':'), { must: true });
  const shape = { name: [config.bin, ...name].join(' '), args, flags };
  return describeUsageFault(Object.assign(new Error('surplus arguments'), { args: surplus }), shape);
}

/** Command words of other programs, with their equivalents here. */
const FAMILIAR: Readonly<Record<string, string>> = {
  backup: 'did you mean "db backup"?',
  restore: 'did you mean "db restore"?',
  status: '"doctor" checks the installation, and "top" shows what it does',
  logs: 'the log goes to stderr of "serve"; under systemd: journalctl -u service-api',
  start: 'did you mean "serve"?',
  upgrade: 'run "sudo ./install.sh --upgrade", or in a checkout "git pull && npm ci"',
  uninstall: 'run "sudo ./install.sh --uninstall"',
};

function unknownCommand(config: Config, words: readonly string[]): string {
  if (words.length === 0) return 'the command comes first, then its flags';
  const familiar = Object.hasOwn(FAMILIAR, words[0] ?? '') ? FAMILIAR[words[0] ?? ''] : undefined;
  if (familiar !== undefined) return `there is no command "${words[0]}"; ${familiar}`;
  const names = config.commandIDs.map((id) => id.replaceAll(':', ' '));
  const topics = [...new Set(names.map((name) => name.split(' ')[0] as string))];
  const [first = '', ...rest] = words;
  const typed = words.slice(0, 2).join(' ');
  const isTopic = topics.includes(first);
  const topic = isTopic ? first : findNearest(first, topics);
  // Compare only the first word, because arguments may follow a command's name. After a valid topic, only the second
  // word can be wrong.
  const whole = isTopic ? null : findNearest(typed, names);
  const nearest = whole ?? nearestIn(names, topic, rest[0]) ?? (isTopic ? null : topic);
  return `there is no command "${typed}"${nearest === null ? '' : `; did you mean "${nearest}"?`}`;
}

/** Find the command of a topic whose second word is nearest to `word`. */
function nearestIn(names: readonly string[], topic: string | null, word: string | undefined): string | null {
  if (topic === null || word === undefined) return null;
  const own = names.flatMap((name) => (name.startsWith(`${topic} `) ? [name.slice(topic.length + 1)] : []));
  const nearest = findNearest(word, own);
  return nearest === null ? null : `${topic} ${nearest}`;
}
