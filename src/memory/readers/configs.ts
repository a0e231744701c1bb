import { z } from 'zod';
import { outboundUrlFault } from '../../platform/outbound/outbound-url.ts';
import { parseRowTemplate } from '../template.ts';
import { globFault } from './globs.ts';

const PATTERNS_MAX = 50;

const Glob = z
  .string()
  .min(1)
  .max(200)
  .superRefine((glob, context) => {
    const fault = globFault(glob);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });
const Globs = z.array(Glob).min(1).max(PATTERNS_MAX).optional();
/** Text without line breaks or other control characters. */
export const lineOfText = z
  .string()
  .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), 'must not have control characters');

const relativePath = lineOfText
  .max(1024)
  .refine((path) => !path.startsWith('/') && !/^[A-Za-z]:|\\/.test(path), 'must be relative to the root')
  .refine((path) => !path.split('/').includes('..'), 'must not lead out of the root')
  .default('.');

const FolderConfig = z.strictObject({ path: relativePath, include: Globs, exclude: Globs });

const WebdavConfig = z.strictObject({
  path: relativePath.describe('folder below the address of the connection'),
  include: Globs,
  exclude: Globs,
});

const S3Config = z.strictObject({ prefix: lineOfText.max(512).default(''), include: Globs, exclude: Globs });

/** Folder path within a repository or library, without a leading or trailing slash. */
const repositoryPath = lineOfText
  .max(1024)
  .refine((path) => !path.startsWith('/') && !path.split('/').includes('..'), 'must be relative to the top')
  .transform((path) => path.replace(/^(?:\.\/)+|^\.$|\/+$/g, ''));

const id = lineOfText.min(1).max(300);
const ConfluenceConfig = z.strictObject({
  spaces: z
    .array(z.string().regex(/^[\w~.-]{1,255}$/, 'must be the key of a space'))
    .min(1)
    .max(100)
    .optional()
    .describe('keys of spaces; default: all spaces that the account can see'),
});
const rights = z
  .boolean()
  .optional()
  .describe('true: let only the people with whom a file is shared read its document');
const NotionConfig = z.strictObject({});
const GoogleDriveConfig = z.strictObject({
  drive: id.optional().describe('id of a shared drive; default: files shared with the service account'),
  folder: id.optional().describe('id of a folder'),
  rights,
  include: Globs,
  exclude: Globs,
});
const SharePointConfig = z.strictObject({
  library: id.optional().describe('name of a document library of the site; default: its first'),
  path: repositoryPath.default('').describe('folder of the library'),
  rights,
  include: Globs,
  exclude: Globs,
});
const SlackConfig = z.strictObject({});

const GitConfig = z.strictObject({
  branch: z
    .string()
    .max(200)
    .regex(/^(?![-/])(?!.*(?:\.\.|\/\/|@\{))[^\s~^:?*[\\\p{Cc}]+$/u, 'must be the name of a branch')
    .optional()
    .describe('branch; default: the default branch of the repository'),
  path: repositoryPath.default('').describe('folder of the repository'),
  include: Globs,
  exclude: Globs,
  commits: z.int().min(1).max(1_000_000).default(1_000).describe('number of commits to fetch, for the times of files'),
});

const identifier = lineOfText.min(1).max(63);
/** Config fields of a source that reads a table or view. */
const rows = {
  table: identifier,
  key: z.array(identifier).min(1).max(8).optional().describe('columns that identify a row; default: the primary key'),
  text: z
    .string()
    .min(1)
    .max(8000)
    .superRefine((template, context) => {
      const parsed = parseRowTemplate(template);
      if ('fault' in parsed) context.addIssue({ code: 'custom', message: parsed.fault });
    })
    .describe('template of a document with names of columns, such as {{title}} {{body}}'),
  title: identifier.optional(),
  updated_at: identifier.optional().describe('column that changes whenever its row changes'),
  event_time: identifier.optional(),
  readers: identifier
    .optional()
    .describe('column with the readers of a row: email addresses and group:NAME, separated by commas; *: everyone'),
  where: z.record(identifier, z.union([z.string().max(512), z.number(), z.boolean()])).optional(),
};

const PostgresConfig = z.strictObject({ schema: identifier.default('public'), ...rows });
const MysqlConfig = z.strictObject(rows);
const SqliteConfig = z.strictObject(rows);

const PageUrl = z
  .string()
  .max(2_048)
  .superRefine((text, context) => {
    const url = URL.parse(text);
    const fault = url === null ? 'must be a URL such as https://docs.example.com/manual/' : outboundUrlFault(url);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });
const WebConfig = z.strictObject({
  start: z
    .array(PageUrl)
    .min(1)
    .max(100)
    .optional()
    .describe('pages to begin with; only pages in their folders are read. Default: the sites of the connection'),
  sitemap: z
    .enum(['auto', 'only', 'off'])
    .default('auto')
    .describe('pages to read; auto: those of sitemaps and links; only: those of sitemaps; off: those of links'),
  include: Globs.describe('patterns of host/path, such as docs.example.com/manual/**'),
  exclude: Globs.describe('patterns of host/path or host/path?query'),
  depth: z.int().min(0).max(50).default(5).describe('links to follow from a first page to another one'),
  pages: z.int().min(1).max(100_000).default(10_000).describe('maximum number of pages and files'),
  main_text: z
    .boolean()
    .default(true)
    .describe('true: ignore changes of a page that affect only navigation, headers or footers'),
});

const ImapConfig = z.strictObject({
  folders: z
    .array(Glob)
    .min(1)
    .max(PATTERNS_MAX)
    .default(['INBOX'])
    .describe('names of folders, or patterns of names with "/" between their parts'),
  since: z.iso.date().optional().describe('only messages that arrived on this day or later'),
  attachments: z.boolean().default(true).describe('false: read only the text of messages'),
});

/** Schema of `config` per connection type. */
export const CONFIG_BY_TYPE = {
  folder: FolderConfig,
  s3: S3Config,
  postgres: PostgresConfig,
  web: WebConfig,
  imap: ImapConfig,
  webdav: WebdavConfig,
  git: GitConfig,
  mysql: MysqlConfig,
  sqlite: SqliteConfig,
  confluence: ConfluenceConfig,
  notion: NotionConfig,
  gdrive: GoogleDriveConfig,
  sharepoint: SharePointConfig,
  slack: SlackConfig,
} as const;

/** Validated `config` of a source type. */
export type ConfigOf<T extends keyof typeof CONFIG_BY_TYPE> = z.output<(typeof CONFIG_BY_TYPE)[T]>;
