import { findNearest } from '../platform/nearest-word.ts';

/** Arguments and flags of a command, as declared by its class. */
export interface CommandShape {
  /** Name with the program, as in `service keys create`. */
  readonly name: string;
  readonly args: Readonly<Record<string, { required?: boolean; multiple?: boolean; options?: readonly string[] }>>;
  readonly flags: Readonly<Record<string, { required?: boolean; type?: string }>>;
}

/** Render the shortest valid form of a command: its name, arguments and required flags. */
export function rightForm({ name, args, flags }: CommandShape): string {
  const words = Object.entries(args).map(([arg, { required, multiple }]) => {
    const word = `${arg.toUpperCase()}${multiple ? '…' : ''}`;
    return required ? word : `[${word}]`;
  });
  const needed = Object.entries(flags).flatMap(([flag, { required, type }]) =>
    required ? [`--${flag}${type === 'boolean' ? '' : ` ${flag.toUpperCase()}`}`] : [],
  );
  return [name, ...words, ...needed].join(' ');
}

/**
 * Describe an error of oclif's parser on one line, with the nearest correct form. oclif itself prints several lines and
 * does not name the correct form.
 *
 * @param error parser error, with `args` or `flags` depending on its class
 */
export function describeUsageFault(error: Error & { args?: unknown; flags?: unknown }, shape: CommandShape): string {
  const { args, flags } = error;
  if (Array.isArray(flags)) return unknownFlags(flags.map(String), shape);
  if (Array.isArray(args) && typeof args[0] === 'object') return missing(args, shape);
  if (Array.isArray(args)) {
    const many = args.length === 1 ? 'the argument' : 'the arguments';
    return `${many} ${args.map((arg) => `"${arg}"`).join(', ')} cannot be used; right form: ${rightForm(shape)}`;
  }
  // Drop colours, and oclif's own headings and hints.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  const text = error.message.replace(/\u001b\[\d*m/g, '').replace(/\nSee more help with --help$/, '');
  const lines = text.split('\n').map((line) => line.trim());
  const reasons = /^The following errors? occurred:$/.test(lines[0] ?? '') ? lines.slice(1) : [lines.join(' ')];
  return reasons.map((reason) => reword(reason, shape)).join('; ');
}

function unknownFlags(flags: readonly string[], shape: CommandShape): string {
  return flags
    .map((flag) => {
      const name = flag.replace(/^-+/, '').replace(/=.*$/s, '');
      const nearest = findNearest(name, Object.keys(shape.flags));
      const hint = nearest === null ? `right form: ${rightForm(shape)}` : `did you mean --${nearest}?`;
      return `there is no flag ${flag}; ${hint}`;
    })
    .join('; ');
}

function missing(args: readonly { name: string; description?: string }[], shape: CommandShape): string {
  const names = args.map(({ name, description }) => {
    const { options } = shape.args[name] ?? {};
    const choices = options === undefined ? description : `${description ?? 'value'}: ${options.join(', ')}`;
    const meaning = choices === undefined ? '' : ` (${choices})`;
    return `${name.toUpperCase()}${meaning}`;
  });
  return `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} missing; right form: ${rightForm(shape)}`;
}

const CHOICE = /^Expected (?:--([\w-]+)=)?(.*) to be one of: (.*)$/s;
const VALUE = /^Flag --([\w-]+) expects (?:a value|one of these values: (.*))$/;
const PARSING = /^Parsing --([\w-]+)\s+(?:Expected (.*?) but received: (.*)|(.*))$/s;

/** Reword oclif's message about one flag or argument. */
function reword(reason: string, shape: CommandShape): string {
  const [, needed] = /^Missing required flag (.*)$/.exec(reason) ?? [];
  if (needed !== undefined) return `--${needed} is missing; right form: ${rightForm(shape)}`;
  const [, flag, given = '', choices] = CHOICE.exec(reason) ?? [];
  if (choices !== undefined) {
    const nearest = findNearest(given, choices.split(', '));
    const what = flag === undefined ? `"${given}"` : `--${flag}: "${given}"`;
    return `${what} must be one of ${choices}${nearest === null ? '' : `; did you mean ${nearest}?`}`;
  }
  const [, empty, values] = VALUE.exec(reason) ?? [];
  if (empty !== undefined) {
    return `--${empty} needs a value: --${empty} ${values === undefined ? empty.toUpperCase() : values.replaceAll(', ', '|')}`;
  }
  const [, parsed, wanted, received, other] = PARSING.exec(reason) ?? [];
  if (parsed === undefined) return reason;
  return wanted === undefined ? `--${parsed}: ${other}` : `--${parsed} must be ${wanted}, not "${received}"`;
}
