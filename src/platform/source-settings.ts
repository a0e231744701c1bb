import path from 'node:path';
import { z } from 'zod';
import { isLoopbackHost } from './networks.ts';
import { Secret } from './secret.ts';
import { readServiceAccount, type ServiceAccount, ServiceAccountKey } from './service-account.ts';
import { type S3Settings, s3Place, s3SettingsOf } from './storage-settings.ts';
import { refuseOpenSecrets, type WebSettings, webFields, webSettingsOf } from './web-source-settings.ts';

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

/** Addresses by which git reaches a repository: https://, ssh://, user@host:path, and http:// on this host. */
const GIT_URL = /^(?:https:\/\/|ssh:\/\/|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/]|[\w.-]+@[\w.-]+:(?!\/\/))\S+$/;
/** Credentials in an address, which lists and errors would show. */
const GIT_CREDENTIALS = /^(?:https?:\/\/[^/]*@|ssh:\/\/[^/]*:[^/]*@)/;

const absolute = z.string().refine((file) => path.isAbsolute(file), 'must be an absolute path');

const Git = z.strictObject({
  type: z.literal('git').describe('a Git repository'),
  ...shared,
  url: z
    .string()
    .regex(GIT_URL, 'must be an https:// or ssh:// address, or user@host:path; http:// only on this host')
    .refine((url) => !GIT_CREDENTIALS.test(url), 'must not have a password; use token or key_file')
    .describe('address of the repository'),
  user: z
    .string()
    .regex(/^[^\s:]+$/, 'must be a name without blanks and colons')
    .default('git')
    .describe('user name that goes with the token'),
  token: secret.optional().describe('token or password for https'),
  key_file: absolute.optional().describe('file of the private key for ssh'),
  known_hosts: absolute.optional().describe('file with the keys of known hosts for ssh; default: that of the user'),
});

const Mysql = z.strictObject({
  type: z.literal('mysql').describe('a database of MySQL or MariaDB'),
  ...shared,
  url: z
    .string()
    .refine((url) => mysqlPlaceOf(url) !== null, 'must be mysql://user:password@host:port/database')
    .transform((value) => new Secret(value))
    .describe('address of the database, mysql://…'),
  tls: z
    .boolean()
    .optional()
    .describe('encrypt the connection and check the certificate; default: yes, unless the database is on this host'),
  ca: z
    .string()
    .regex(/^-----BEGIN CERTIFICATE-----/, 'must be a certificate in PEM')
    .optional()
    .describe('certificate of the issuer, in PEM'),
});

/** Parts of the address of a database; null if it lacks one. */
function mysqlPlaceOf(text: string) {
  const url = URL.canParse(text) ? new URL(text) : null;
  const database = decodeURIComponent(url?.pathname.slice(1) ?? '');
  if (url?.protocol !== 'mysql:' || url.username === '' || database === '' || database.includes('/')) return null;
  return {
    host: url.hostname,
    port: Number(url.port || 3306),
    user: decodeURIComponent(url.username),
    password: new Secret(decodeURIComponent(url.password)),
    database,
  };
}

const Sqlite = z.strictObject({
  type: z.literal('sqlite').describe('a file of SQLite'),
  ...shared,
  file: absolute.describe('file of the database'),
});

const https = z
  .url({ protocol: /^https?$/ })
  .refine((url) => url.startsWith('https:') || isLoopbackHost(new URL(url).hostname), 'must begin with https://')
  .refine((url) => new URL(url).username === '', 'must not have credentials');
const id = z.string().regex(/^[\w.@:/,-]{1,300}$/, 'must be an id or a name without blanks');

const Confluence = z.strictObject({
  type: z.literal('confluence').describe('Confluence Cloud (preview)'),
  ...shared,
  url: https
    .transform((url) => new URL(url).origin)
    .describe('address of the site, such as https://acme.atlassian.net'),
  email: z.string().min(3).max(320).describe('email address of the account'),
  token: secret.describe('API token of the account'),
});

const Notion = z.strictObject({
  type: z.literal('notion').describe('pages of Notion (preview)'),
  ...shared,
  token: secret.describe('token of an internal integration, with which the pages are shared'),
  url: https.default('https://api.notion.com').describe('address of the API'),
});

const GoogleDrive = z.strictObject({
  type: z.literal('gdrive').describe('Google Drive (preview)'),
  ...shared,
  service_account: ServiceAccountKey.describe('JSON key of a service account, with which the files are shared'),
  url: https.default('https://www.googleapis.com').describe('address of the API'),
});

const SharePoint = z
  .strictObject({
    type: z.literal('sharepoint').describe('a library of SharePoint, or OneDrive (preview)'),
    ...shared,
    tenant: id.describe('id or domain of the tenant'),
    client_id: id.describe('id of the application'),
    client_secret: secret.describe('secret of the application'),
    site: id.optional().describe('site, such as acme.sharepoint.com:/sites/team'),
    user: id.optional().describe('user name of a person, whose OneDrive is read instead of a site'),
    login_url: https.default('https://login.microsoftonline.com').describe('address of Microsoft Entra ID'),
    graph_url: https.default('https://graph.microsoft.com').describe('address of Microsoft Graph'),
  })
  .refine(({ site, user }) => (site === undefined) !== (user === undefined), 'needs either site or user');

const Slack = z.strictObject({
  type: z.literal('slack').describe('an unpacked export of a Slack workspace (preview)'),
  ...shared,
  root: absolute.describe('folder with users.json and the folders of the channels'),
});

const Web = z
  .strictObject({ type: z.literal('web').describe('websites'), ...shared, ...webFields })
  .superRefine(refuseOpenSecrets);

/** Setting `sources`: the only places that sources may read, by the name that a source uses. */
export const sourceSettings = {
  sources: z
    .record(
      name,
      z.discriminatedUnion('type', [
        Folder,
        S3,
        Postgres,
        Web,
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
    .describe('places that connected sources may read, by a name of yours'),
  source_roots: z
    .array(z.string().refine((root) => path.isAbsolute(root), 'must be an absolute path'))
    .min(1)
    .default(DEFAULT_ROOTS)
    .describe('folders below which connections of types folder, sqlite and slack may read'),
};

type SourcesFile = z.output<z.ZodObject<typeof sourceSettings>>;

/** Repository, and how git signs in there. */
export interface GitConnection {
  readonly url: string;
  readonly user: string;
  readonly token: Secret | null;
  readonly keyFile: string | null;
  readonly knownHosts: string | null;
}

/** Database of MySQL or MariaDB, and how to sign in there. */
export interface MysqlConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: Secret;
  readonly database: string;
  /** Null for a connection that is not encrypted. */
  readonly ssl: { readonly ca: string | null } | null;
}

/** Site of Confluence Cloud. `url` is an origin. */
export interface ConfluenceConnection {
  readonly url: string;
  readonly email: string;
  readonly token: Secret;
}

export interface NotionConnection {
  readonly url: string;
  readonly token: Secret;
}

export interface GoogleDriveConnection {
  readonly url: string;
  readonly account: ServiceAccount;
}

/** Application of Microsoft Entra ID, and the site or the person whose files it reads. */
export interface SharePointConnection {
  readonly loginUrl: string;
  readonly graphUrl: string;
  readonly tenant: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Null to read the files of `user`. */
  readonly site: string | null;
  readonly user: string;
}

/** Place that sources may read, and the names of the organizations whose sources may. */
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
);

/** Return true if sources of an organization may read a connection. */
export function mayUse({ organizations }: ConnectionSettings, organization: string): boolean {
  return organizations.includes(organization) || organizations.includes(EVERY_ORGANIZATION);
}

/** List the faults of connections whose folder or file is outside of the allowed folders. */
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
/** Omit the organizations from each member of a union. */
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

function sharePointConnectionOf(source: z.output<typeof SharePoint>): SharePointConnection {
  return {
    loginUrl: source.login_url,
    graphUrl: source.graph_url,
    tenant: source.tenant,
    clientId: source.client_id,
    clientSecret: source.client_secret,
    site: source.site ?? null,
    user: source.user ?? '',
  };
}

function gitConnectionOf({ url, user, token, key_file: keyFile, known_hosts: hosts }: z.output<typeof Git>) {
  return { url, user, token: token ?? null, keyFile: keyFile ?? null, knownHosts: hosts ?? null };
}

function mysqlConnectionOf({ url, tls, ca }: z.output<typeof Mysql>): MysqlConnection {
  const place = mysqlPlaceOf(url.reveal());
  if (place === null) throw new Error('the address was checked when it was read');
  const isEncrypted = tls ?? !isLoopbackHost(place.host);
  return { ...place, ssl: isEncrypted ? { ca: ca ?? null } : null };
}
