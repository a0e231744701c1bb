import path from 'node:path';
import { z } from 'zod';
import {
  type ConfluenceConnection,
  confluencePlace,
  type GoogleDriveConnection,
  googleDrivePlace,
  type NotionConnection,
  notionPlace,
  type SharePointConnection,
  sharePointConnectionOf,
  sharePointPlace,
} from './cloud-source-settings.ts';
import { type GitConnection, gitConnectionOf, gitPlace } from './git-settings.ts';
import { checkImap, type ImapSettings, imapPlace, imapSettingsOf } from './imap-settings.ts';
import { type MysqlConnection, mysqlConnectionOf, mysqlPlace } from './mysql-settings.ts';
import { CREDENTIALS_ENCODED } from './percent-encoding.ts';
import { Secret } from './secret.ts';
import { readServiceAccount } from './service-account.ts';
import { absolutePath, tokenSetting } from './source-secrets.ts';
import { type S3Settings, s3Place, s3SettingsOf } from './storage-settings.ts';
import { refuseOpenSecrets, type WebSettings, webFields, webSettingsOf } from './web-source-settings.ts';
import { checkWebdav, type WebdavSettings, webdavPlace, webdavSettingsOf } from './webdav-settings.ts';

/** Organization that owns the operator's connections by default: the first one of an installation. */
const FIRST_ORGANIZATION = 'default';

/** Entry of `organizations` that means all of them. */
const EVERY_ORGANIZATION = '*';

/** Folders below which a connection may read by default. None holds system settings or secrets. */
const DEFAULT_ROOTS = ['/srv', '/mnt', '/media', '/data', '/home', '/Users', '/Volumes'];

/** Settings of every type of connection. */
const shared = {
  organizations: z
    .array(z.string().min(1).max(128))
    .min(1)
    .default([FIRST_ORGANIZATION])
    .describe('names of the organizations that may use the connection; "*" for all'),
};

const name = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, ".", "_" and "-"');

/** Create the schema of a type of connection. `place` has the settings of this type. */
function connection<Type extends string, Place extends z.ZodRawShape>(type: Type, description: string, place: Place) {
  return z.strictObject({ type: z.literal(type).describe(description), ...shared, ...place });
}

const Folder = connection('folder', 'a folder of this host', {
  /** Folder that sources may read, including its subfolders. */
  root: absolutePath.describe('folder that sources may read, with all folders below it'),
});

const S3 = connection('s3', 'a bucket on S3', {
  ...s3Place,
  /** Keys of a separate account. Sources never use the machine's role. */
  credentials: z
    .strictObject({
      access_key_id: tokenSetting.describe('access key'),
      secret_access_key: tokenSetting.describe('secret of the access key'),
      session_token: tokenSetting.optional().describe('token of temporary credentials'),
    })
    .describe('access keys of an account for this purpose; the service never uses the role of the machine'),
});

const Postgres = connection('postgres', 'a PostgreSQL database', {
  url: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .refine(...CREDENTIALS_ENCODED)
    .transform((value) => new Secret(value))
    .describe('address of the database, postgres://…'),
});

const Git = connection('git', 'a Git repository', gitPlace);
const Mysql = connection('mysql', 'a database of MySQL or MariaDB', mysqlPlace);
const Confluence = connection('confluence', 'Confluence Cloud (preview)', confluencePlace);
const Notion = connection('notion', 'pages of Notion (preview)', notionPlace);
const GoogleDrive = connection('gdrive', 'Google Drive (preview)', googleDrivePlace);
const SharePoint = connection('sharepoint', 'a library of SharePoint, or OneDrive (preview)', sharePointPlace).refine(
  ({ site, user }) => (site === undefined) !== (user === undefined),
  'needs either site or user',
);

const Sqlite = connection('sqlite', 'a file of SQLite', {
  file: absolutePath.describe('file of the database'),
});

const Slack = connection('slack', 'an unpacked export of a Slack workspace (preview)', {
  root: absolutePath.describe('folder with users.json and the folders of the channels'),
});

const Web = connection('web', 'websites', webFields).superRefine(refuseOpenSecrets);
const Imap = connection('imap', 'a mailbox on an IMAP server', imapPlace).superRefine(checkImap);
const Webdav = connection('webdav', 'a folder on a WebDAV server', webdavPlace).superRefine(checkWebdav);

/** Setting `sources`: the only places that sources may read, by connection name. */
export const sourceSettings = {
  sources: z
    .record(
      name,
      z.discriminatedUnion('type', [
        Folder,
        S3,
        Postgres,
        Web,
        Imap,
        Webdav,
        Git,
        Mysql,
        Sqlite,
        Confluence,
        Notion,
        GoogleDrive,
        SharePoint,
        Slack,
      ]),
    )
    .default({})
    .describe('connections that sources may read, by a name that you choose'),
  source_roots: z
    .array(absolutePath)
    .min(1)
    .default(DEFAULT_ROOTS)
    .describe('folders below which connections of types folder, sqlite and slack may read'),
};

type SourcesFile = z.output<z.ZodObject<typeof sourceSettings>>;

/** Place that sources may read, and the names of the organizations that may use it. */
export type ConnectionSettings = { readonly organizations: readonly string[] } & (
  | { readonly type: 'folder'; readonly root: string }
  | { readonly type: 's3'; readonly s3: S3Settings }
  | { readonly type: 'postgres'; readonly url: Secret }
  | { readonly type: 'git'; readonly git: GitConnection }
  | { readonly type: 'mysql'; readonly mysql: MysqlConnection }
  | { readonly type: 'sqlite'; readonly file: string }
  | { readonly type: 'confluence'; readonly confluence: ConfluenceConnection }
  | { readonly type: 'notion'; readonly notion: NotionConnection }
  | { readonly type: 'gdrive'; readonly gdrive: GoogleDriveConnection }
  | { readonly type: 'sharepoint'; readonly sharepoint: SharePointConnection }
  | { readonly type: 'slack'; readonly root: string }
  | { readonly type: 'web'; readonly web: WebSettings }
  | { readonly type: 'imap'; readonly imap: ImapSettings }
  | { readonly type: 'webdav'; readonly webdav: WebdavSettings }
);

/** Return true if an organization's sources may read a connection. */
export function mayUse({ organizations }: ConnectionSettings, organization: string): boolean {
  return organizations.includes(organization) || organizations.includes(EVERY_ORGANIZATION);
}

/** List the faults of connections whose folder or file is outside the allowed folders. */
export function sourceFaults(file: SourcesFile): { path: string[]; message: string }[] {
  const roots = file.source_roots.map((root) => path.resolve(root));
  const isAllowed = (folder: string) =>
    roots.some((root) => folder === root || folder.startsWith(root.endsWith(path.sep) ? root : root + path.sep));
  const message = `must be below one of source_roots (${roots.join(', ')}); add its folder there to allow it`;
  return Object.entries(file.sources).flatMap(([key, source]) => {
    if ((source.type === 'folder' || source.type === 'slack') && !isAllowed(path.resolve(source.root))) {
      return [{ path: ['sources', key, 'root'], message }];
    }
    if (source.type === 'sqlite' && !isAllowed(path.resolve(source.file))) {
      return [{ path: ['sources', key, 'file'], message }];
    }
    return [];
  });
}

export function sourcesConfigOf(file: SourcesFile): { sources: Readonly<Record<string, ConnectionSettings>> } {
  const sources = Object.entries(file.sources).map(([key, source]): [string, ConnectionSettings] => [
    key,
    { organizations: source.organizations, ...placeOf(source) },
  ]);
  return { sources: Object.fromEntries(sources) };
}

type SourceInFile = SourcesFile['sources'][string];
type Place = Distribute<ConnectionSettings>;
/** Union without `organizations` in each member. */
type Distribute<T> = T extends unknown ? Omit<T, 'organizations'> : never;

function placeOf(source: SourceInFile): Place {
  switch (source.type) {
    case 'folder':
    case 'slack':
      return { type: source.type, root: path.resolve(source.root) };
    case 'postgres':
      return { type: 'postgres', url: source.url };
    case 'web':
      return { type: 'web', web: webSettingsOf(source) };
    case 'imap':
      return { type: 'imap', imap: imapSettingsOf(source) };
    case 'webdav':
      return { type: 'webdav', webdav: webdavSettingsOf(source) };
    case 'git':
      return { type: 'git', git: gitConnectionOf(source) };
    case 'mysql':
      return { type: 'mysql', mysql: mysqlConnectionOf(source) };
    case 'sqlite':
      return { type: 'sqlite', file: path.resolve(source.file) };
    case 'confluence':
      return { type: 'confluence', confluence: source };
    case 'notion':
      return { type: 'notion', notion: source };
    case 'gdrive':
      return { type: 'gdrive', gdrive: { url: source.url, account: readServiceAccount(source.service_account) } };
    case 'sharepoint':
      return { type: 'sharepoint', sharepoint: sharePointConnectionOf(source) };
    default: {
      const { credentials, type, organizations: _, ...place } = source;
      return { type, s3: s3SettingsOf({ ...place, credentials: 'keys', ...credentials }) };
    }
  }
}
