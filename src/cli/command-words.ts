import type { AppError } from '../platform/errors.ts';
import { renameStart } from './name-fault.ts';
import type { CommandShape } from './usage-fault.ts';

/** Commands that correspond to API routes named in operation messages. */
const COMMANDS: Readonly<Record<string, string>> = {
  'GET /v1/models': 'models list',
  'GET /v1/metadata/reserved-keys': 'metadata keys',
  'POST /v1/embed/jobs': 'bulk submit',
};

/** Codes of errors whose messages describe a value without naming its field. */
const NAMELESS_CODES = new Set(['duration_invalid', 'ttl_invalid']);

/** Request field inside a sentence, such as `chunk_size`, but not inside a path, a quotation or a list of keys. */
const FIELD = /(?<![\w.\-"'`[{/:])[a-z]+(?:_[a-z]+)+(?![\w.\-"'`\]}/:=,])/g;

/**
 * Render an error message for users of a command: replace API fields and routes by flags and commands.
 * @param bin program name as the user typed it
 */
export function inCommandWords(error: AppError, shape: CommandShape, bin: string): string {
  const typed = (field: string) => nameOf(field, shape);
  let { message } = error.status === 400 ? renameStart(error, typed) : error;
  if (NAMELESS_CODES.has(error.code)) {
    const name = error.param === null ? undefined : typed(error.param);
    if (name !== undefined && !message.startsWith(name)) message = `${name}: ${message}`;
  }
  if (error.code === 'invalid_request') message = message.replace(FIELD, (field) => typed(field) ?? field);
  for (const [route, command] of Object.entries(COMMANDS)) message = message.replaceAll(route, `"${bin} ${command}"`);
  return message.replace(/\bforce=true\b/, 'force' in shape.flags ? '--force' : `"${bin} jobs cancel --force"`);
}

/** Return the name of a field as an argument or a flag of a command, or undefined if the command has neither. */
function nameOf(field: string, { args, flags }: CommandShape): string | undefined {
  if (Object.hasOwn(args, field)) return field.toUpperCase();
  const flag = field.replaceAll('_', '-');
  return Object.hasOwn(flags, flag) ? `--${flag}` : undefined;
}
