import path from 'node:path';
import { z } from 'zod';
import { checkImap, type ImapSettings, imapPlace, imapSettingsOf } from './imap-settings.ts';
import { Secret } from './secret.ts';
import { type S3Settings, s3Place, s3SettingsOf } from './storage-settings.ts';
import { checkWebdav, type WebdavSettings, webdavPlace, webdavSettingsOf } from './webdav-settings.ts';

const secret = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .transform((value) => new Secret(value));
/** Organization to which the operator's connections belong by default: the first one of an installation. */
const FIRST_ORGANIZATION = 'default';

/** Entry of `organizations` that stands for all of them. */
const EVERY_ORGANIZATION = '*';

/** Folders below which a connection may read by default. None of them holds settings or secrets of the system. */
const DEFAULT_ROOTS = ['/srv', '/mnt', '/media', '/data', '/home', '/Users', '/Volumes'];

/** Setting of every type of connection. */
const shared = {
  organizations: z
    .array(z.string().min(1).max(128))
    .min(1)
    .default([FIRST_ORGANIZATION])
    .describe('names of the organizations that may read it; "*" for all'),
};

const name = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, ".", "_" and "-"');

const Folder = z.strictObject({
  type: z.literal('folder').describe('a folder of this host'),
  ...shared,
  /** Folder that sources may read, including all folders below it. */
  root: z
    .string()
    .min(1)
    .refine((root) => path.isAbsolute(root), 'must be an absolute path')
    .describe('folder that sources may read, with all folders below it'),
});

const S3 = z.strictObject({
  type: z.literal('s3').describe('a bucket on S3'),
  ...shared,
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
  ...shared,
  url: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .transform((value) => new Secret(value))
    .describe('address of the database, postgres://…'),
});

const Imap = z
  .strictObject({ type: z.literal('imap').describe('a mailbox on an IMAP server'), ...shared, ...imapPlace })
  .superRefine(checkImap);

const Webdav = z
  .strictObject({ type: z.literal('webdav').describe('a folder on a WebDAV server'), ...shared, ...webdavPlace })
  .superRefine(checkWebdav);

/** Setting `sources`: the only places that sources may read, by the name that a source uses. */
export const sourceSettings = {
  sources: z
    .record(name, z.discriminatedUnion('type', [Folder, S3, Postgres, Imap, Webdav]))
    .default({})
    .describe('places that connected sources may read, by a name of yours'),
  source_roots: z
    .array(z.string().refine((root) => path.isAbsolute(root), 'must be an absolute path'))
    .min(1)
    .default(DEFAULT_ROOTS)
    .describe('folders below which connections of type folder may read'),
};

type SourcesFile = z.output<z.ZodObject<typeof sourceSettings>>;

/** Place that sources may read, and the names of the organizations whose sources may. */
export type ConnectionSettings = { readonly organizations: readonly string[] } & (
  | { readonly type: 'folder'; readonly root: string }
  | { readonly type: 's3'; readonly s3: S3Settings }
  | { readonly type: 'postgres'; readonly url: Secret }
  | { readonly type: 'imap'; readonly imap: ImapSettings }
  | { readonly type: 'webdav'; readonly webdav: WebdavSettings }
);

/** Return true if sources of an organization may read a connection. */
export function mayUse({ organizations }: ConnectionSettings, organization: string): boolean {
  return organizations.includes(organization) || organizations.includes(EVERY_ORGANIZATION);
}

/** List the faults of connections whose folder is outside of the allowed ones. */
export function sourceFaults(file: SourcesFile): { path: string[]; message: string }[] {
  const roots = file.source_roots.map((root) => path.resolve(root));
  const isAllowed = (folder: string) =>
    roots.some((root) => folder === root || folder.startsWith(root.endsWith(path.sep) ? root : root + path.sep));
  return Object.entries(file.sources).flatMap(([key, source]) =>
    source.type !== 'folder' || isAllowed(path.resolve(source.root))
      ? []
      : [
          {
            path: ['sources', key, 'root'],
            message: `must be below one of source_roots (${roots.join(', ')}); add its folder there to allow it`,
          },
        ],
  );
}

export function sourcesConfigOf(file: SourcesFile): { sources: Readonly<Record<string, ConnectionSettings>> } {
  const sources = Object.entries(file.sources).map(([key, source]): [string, ConnectionSettings] => {
    const { organizations } = source;
    if (source.type === 'folder') return [key, { type: 'folder', root: path.resolve(source.root), organizations }];
    if (source.type === 'postgres') return [key, { type: 'postgres', url: source.url, organizations }];
    if (source.type === 'imap') return [key, { type: 'imap', imap: imapSettingsOf(source), organizations }];
    if (source.type === 'webdav') return [key, { type: 'webdav', webdav: webdavSettingsOf(source), organizations }];
    const { credentials, type, organizations: _, ...place } = source;
    return [key, { type, s3: s3SettingsOf({ ...place, credentials: 'keys', ...credentials }), organizations }];
  });
  return { sources: Object.fromEntries(sources) };
}
