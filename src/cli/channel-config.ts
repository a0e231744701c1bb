import { text } from 'node:stream/consumers';
import { invalidRequest } from '../platform/errors.ts';
import { jsonOf, pairsOf } from './flags.ts';
import { readLines } from './read-lines.ts';

const toBoolean = (value: string) => (value === 'true' ? true : value === 'false' ? false : value);

/** Parsers of the configuration fields that aren't strings. */
const TYPED: Readonly<Record<string, (value: string) => unknown>> = {
  public_only: toBoolean,
  resend: toBoolean,
  quick_replies: (value) => value.split(','),
  score_min: (value) => (value.trim() === '' ? value : Number(value)),
};

/**
 * Read a configuration from a JSON file (`-`: stdin) and `key=value` pairs. A pair overrides the file's field.
 *
 * @throws AppError `invalid_request` (400), `file_not_found` (404), `file_unreadable` (403)
 */
export async function readChannelConfig(
  file: string | undefined,
  pairs: readonly string[] | string | undefined,
): Promise<Record<string, unknown>> {
  const given = Object.entries(pairsOf('set', pairs)).map(([key, value]) => [key, TYPED[key]?.(value) ?? value]);
  if (file === undefined && given.length === 0) {
    throw invalidRequest(
      'give the configuration with --config-file FILE, with --set key=value, or with both',
      'config-file',
    );
  }
  return { ...(file === undefined ? {} : await readObject(file)), ...Object.fromEntries(given) };
}

async function readObject(file: string): Promise<Record<string, unknown>> {
  const content = file === '-' ? await text(process.stdin) : (await readLines(file)).join('\n');
  const value = jsonOf('config-file', content);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidRequest('--config-file: must contain a JSON object, the "config" of the channel', 'config-file');
  }
  return value as Record<string, unknown>;
}
