import { text } from 'node:stream/consumers';
import { invalidRequest } from '../platform/errors.ts';
import { readLines } from './read-lines.ts';

/**
 * Read a JSON or YAML file, or stdin for `-`. Detect JSON by its first character, so that YAML rules never apply to its
 * numbers and strings.
 * @param name name of the argument or flag, for messages
 * @throws AppError `invalid_request` (400), `file_not_found` (404), `file_unreadable` (403)
 */
export async function readDataFile(file: string, name: string): Promise<Record<string, unknown>> {
  const content = file === '-' ? await text(process.stdin) : (await readLines(file)).join('\n');
  const value = /^\s*\{/.test(content) ? readJson(content, name) : await readYaml(content, name);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw invalidRequest(`${name}: must contain one object, in JSON or YAML`);
}

function readJson(content: string, name: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    throw invalidRequest(`${name}: is not valid JSON: ${(error as Error).message}`);
  }
}

async function readYaml(content: string, name: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(content, { maxAliasCount: 100 });
  } catch (error) {
    throw invalidRequest(`${name}: is not valid YAML: ${(error as Error).message.split('\n')[0]}`);
  }
}
