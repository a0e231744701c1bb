import { Flags } from '@oclif/core';
import { invalidRequest } from '../platform/errors.ts';

/** Flags that several commands have. Every flag's variable is `SERVICE_` and its name (held by a test). */

export const orgFlag = Flags.string({
  description: 'name or id of the organization',
  default: 'default',
  env: 'SERVICE_ORG',
});

export const bucketFlag = Flags.string({
  description: 'name or id of the bucket',
  default: 'default',
  env: 'SERVICE_BUCKET',
});

export const yesFlag = Flags.boolean({ description: 'do not ask for confirmation', env: 'SERVICE_YES' });

/**
 * The values of a flag that may be given several times. oclif hands its environment variable over as one text,
 * whose items are separated by commas.
 */
export function listOf(value: readonly string[] | string | undefined): string[] {
  if (value === undefined) return [];
  if (typeof value !== 'string') return [...value];
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** `key=value` pairs as one object. @throws AppError `invalid_request` (400) */
export function pairsOf(flag: string, value: readonly string[] | string | undefined): Record<string, string> {
  return Object.fromEntries(
    listOf(value).map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw invalidRequest(`--${flag}: must be key=value`, flag);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** What a flag says in JSON. @throws AppError `invalid_request` (400) */
export function jsonOf(flag: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidRequest(`--${flag}: must be JSON`, flag);
  }
}

/** @param description what the level is of, and its default */
export function authLevelFlag(description: string) {
  return Flags.integer({ description, min: 1, max: 10, env: 'SERVICE_AUTH_LEVEL' });
}
