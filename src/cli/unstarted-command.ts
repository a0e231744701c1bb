import { Config } from '@oclif/core/config';
import { findNearest } from '../platform/nearest-word.ts';
import { describeFailure, EXIT } from './exit-codes.ts';
import { printFailure, wantsJson } from './output.ts';
import { asksForHelp } from './show-help.ts';

/** Options with which oclif loads the project; with `ignoreManifest` it reads the files of the commands. */
interface ProjectOptions {
  readonly root: string;
  readonly ignoreManifest?: boolean;
}

/** Return true if the command line begins with the name of a command. */
export async function isKnownCommand(options: ProjectOptions, argv: readonly string[]): Promise<boolean> {
  return findCommand(await Config.load(options), wordsOf(argv));
}

/** Print why no command could be started: there is none of that name, or loading it failed with `error`. */
export async function reportUnstarted(options: ProjectOptions, argv: readonly string[], error: unknown): Promise<void> {
  const config = await Config.load(options);
  const words = wordsOf(argv);
  const failure = findCommand(config, words)
    ? describeFailure(error)
    : { exitCode: EXIT.usage, code: 'usage', message: unknownCommand(config, words) };
  printFailure(failure, { json: wantsJson(config, argv), bin: config.bin, help: `${config.bin} --help` });
}

/** Return the words before the first flag: the name of the command, and perhaps arguments. */
function wordsOf(argv: readonly string[]): string[] {
  // As in show-help.ts, the words of a command may follow --help.
  if (asksForHelp(argv)) return argv.filter((arg) => !arg.startsWith('-'));
  const end = argv.findIndex((arg) => arg.startsWith('-'));
  return argv.slice(0, end === -1 ? undefined : end);
}

function findCommand(config: Config, words: readonly string[]): boolean {
  return words.some((_, index) => config.findCommand(words.slice(0, index + 1).join(':')) !== undefined);
}

function unknownCommand(config: Config, words: readonly string[]): string {
  if (words.length === 0) return 'the command comes first, then its flags';
  const names = config.commandIDs.map((id) => id.replaceAll(':', ' '));
  const topics = [...new Set(names.map((name) => name.split(' ')[0] as string))];
  const [first = '', ...rest] = words;
  const typed = words.slice(0, 2).join(' ');
  const isTopic = topics.includes(first);
  const topic = isTopic ? first : findNearest(first, topics);
  // An argument may follow the name of a command, so that only its first word is compared then. After the right name of
  // a topic only the second word can be wrong.
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
