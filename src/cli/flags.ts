import { Args, Flags } from '@oclif/core';
import { invalidRequest } from '../platform/errors.ts';

/** Flags and arguments shared by several commands. */

/** These flags have no environment variable, which would confirm every later command. */
const CONFIRMING = new Set(['yes', 'force', 'accept-unsigned', 'allow-empty', 'confirm', 'max-affected']);

/** Give each flag its environment variable: `SERVICE_` and its name. Every command declares its flags this way. */
export function withVariables<Given extends Readonly<Record<string, object>>>(flags: Given): Given {
  const entries = Object.entries(flags).map(([name, flag]) => {
    const env = CONFIRMING.has(name) ? undefined : `SERVICE_${name.toUpperCase().replaceAll('-', '_')}`;
    return [name, { ...flag, env }];
  });
  return Object.fromEntries(entries) as Given;
}

export const orgFlag = Flags.string({ description: 'name or id of the organization', default: 'default' });

export const bucketFlag = Flags.string({ description: 'name or id of the bucket', default: 'default' });

/** Create the flag for the length of a list. @param what noun for the items, such as "documents" */
export function limitFlag(what: string, { max, usual = 50 }: { readonly max: number; readonly usual?: number }) {
  return Flags.integer({
    description: `maximum number of ${what}, up to ${max.toLocaleString('en')}`,
    aliases: ['top-k'],
    default: usual,
    min: 1,
    max,
  });
}

/** Create a flag that may be repeated; `listOf` lists its values. */
export function listFlag(description: string) {
  return Flags.string({ description, multiple: true, multipleNonGreedy: true });
}

/** Create a required argument, which is never read from stdin. */
export function requiredArg(description: string) {
  return Args.string({ description, required: true, ignoreStdin: true });
}

/** Argument that names a connected source. */
export const sourceArg = requiredArg('name or id of the source');

export const keyArg = requiredArg('name of the key, or its id as in "keys list" (the eight characters after "svc_")');

/** Parse the version of a map. oclif's `Args.integer` would report an invalid one as an internal error. */
export const mapVersionArg = Args.custom<number>({
  description: 'version of the map, as in "projections list"',
  required: true,
  ignoreStdin: true,
  async parse(text) {
    const version = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(version) && version > 0) return version;
    throw invalidRequest(`VERSION must be a positive integer, as in "projections list", not "${text}"`, 'version');
  },
})();

export const yesFlag = Flags.boolean({ description: 'do not ask for confirmation' });
export const forceFlag = Flags.boolean({ description: 'replace a file that already exists' });

/** Values of a repeatable flag, or its environment variable with comma-separated values. */
type Listed = readonly string[] | string;

/**
 * List the values of a repeatable flag. oclif passes such a flag's environment variable as one comma-separated string.
 */
export function listOf(value: Listed | undefined): string[] {
  if (value === undefined) return [];
  if (typeof value !== 'string') return [...value];
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Parse `key=value` pairs into one object. @throws AppError `invalid_request` (400) */
export function pairsOf(flag: string, value: readonly string[] | string | undefined): Record<string, string> {
  return Object.fromEntries(
    listOf(value).map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw invalidRequest(`--${flag}: must be key=value`, flag);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** Parse the number of a flag. @throws AppError `invalid_request` (400) */
export function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw invalidRequest(`--${flag}: must be a number`, flag);
  return value;
}

/** Parse the JSON value of a flag. @throws AppError `invalid_request` (400) */
export function jsonOf(flag: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidRequest(`--${flag}: must be JSON`, flag);
  }
}

/** Create a flag for an auth level. @param description meaning of the level, and its default */
export function authLevelFlag(description: string) {
  return Flags.integer({ description, min: 1, max: 10 });
}

export const serverUrlFlag = Flags.string({
  description: 'address of the server (default: base_url of the settings, or the server of the data directory)',
});

/** Flags that name the users and groups who may read documents. */
export const accessFlags = {
  reader: listFlag(
    'email or id of a user who may read the documents, besides members of --group; may be given several times',
  ),
  group: listFlag(
    'group whose members may read the documents (default: those of the bucket); may be given several times',
  ),
};

/** Read the values of `accessFlags`. Return undefined if neither is given. */
export function accessOf({
  reader,
  group,
}: {
  readonly reader?: Listed | undefined;
  readonly group?: Listed | undefined;
}) {
  return reader === undefined && group === undefined ? undefined : { users: listOf(reader), groups: listOf(group) };
}
