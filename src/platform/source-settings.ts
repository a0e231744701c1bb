import path from 'node:path';
import { z } from 'zod';
import { Secret } from './secret.ts';
import { type S3Settings, s3Place, s3SettingsOf } from './storage-settings.ts';

const secret = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .transform((value) => new Secret(value));
const name = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, ".", "_" and "-"');

const Folder = z.strictObject({
  type: z.literal('folder').describe('a folder of this host'),
  /** Folder that sources may read, including all folders below it. */
  root: z
    .string()
    .min(1)
    .refine((root) => path.isAbsolute(root), 'must be an absolute path')
    .describe('folder that sources may read, with all folders below it'),
});

const S3 = z.strictObject({
  type: z.literal('s3').describe('a bucket on S3'),
  ...s3Place,
  /** Keys of a separate account. Sources never use the role of the machine. */
  credentials: z
    .strictObject({
      access_key_id: secret.describe('access key'),
      secret_access_key: secret.describe('secret of the access key'),
      session_token: secret.optional().describe('token of temporary credentials'),
    })
    .describe('keys of an own account; the role of the machine is never used'),
});

const Postgres = z.strictObject({
  type: z.literal('postgres').describe('a PostgreSQL database'),
  url: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .transform((value) => new Secret(value))
    .describe('address of the database, postgres://…'),
});

/** Setting `sources`: the only places that sources may read, by the name that a source uses. */
export const sourceSettings = {
  sources: z
    .record(name, z.discriminatedUnion('type', [Folder, S3, Postgres]))
    .default({})
    .describe('places that connected sources may read, by a name of yours'),
};

type SourcesFile = z.output<z.ZodObject<typeof sourceSettings>>;

/** Place that sources may read. */
export type ConnectionSettings =
  | { readonly type: 'folder'; readonly root: string }
  | { readonly type: 's3'; readonly s3: S3Settings }
  | { readonly type: 'postgres'; readonly url: Secret };

export function sourcesConfigOf(file: SourcesFile): { sources: Readonly<Record<string, ConnectionSettings>> } {
  const sources = Object.entries(file.sources).map(([key, source]): [string, ConnectionSettings] => {
    if (source.type === 'folder') return [key, { type: 'folder', root: path.resolve(source.root) }];
    if (source.type === 'postgres') return [key, { type: 'postgres', url: source.url }];
    const { credentials, ...place } = source;
    return [key, { type: 's3', s3: s3SettingsOf({ ...place, credentials: 'keys', ...credentials }) }];
  });
  return { sources: Object.fromEntries(sources) };
}
