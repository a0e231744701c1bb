import { Flags } from '@oclif/core';
import { jsonOf, listFlag, listOf } from './flags.ts';

/** Create the flag that names a connection. */
export function connectionFlag({ required }: { readonly required: boolean }) {
  return Flags.string({ description: 'name of a connection in service.yaml', required, env: 'SERVICE_CONNECTION' });
}

/** Flags for the `config` field of a source. Each connection type uses some of them. */
export const placeFlags = {
  path: Flags.string({
    description: 'folder, webdav, git, sharepoint: path below the root of the connection',
    env: 'SERVICE_PATH',
  }),
  prefix: Flags.string({ description: 's3: beginning of the keys', env: 'SERVICE_PREFIX' }),
  include: listFlag(
    'all with files or pages: pattern of paths to include (web: host/path); may be given several times',
    'SERVICE_INCLUDE',
  ),
  exclude: listFlag(
    'all with files or pages: pattern of paths to exclude; may be given several times',
    'SERVICE_EXCLUDE',
  ),
  branch: Flags.string({
    description: 'git: branch (default: the default branch of the repository)',
    env: 'SERVICE_BRANCH',
  }),
  schema: Flags.string({ description: 'postgres: schema of the table (default: public)', env: 'SERVICE_SCHEMA' }),
  table: Flags.string({ description: 'postgres, mysql, sqlite: table or view', env: 'SERVICE_TABLE' }),
  text: Flags.string({
    description: 'postgres, mysql, sqlite: template of a document, such as "{{title}} {{body}}"',
    env: 'SERVICE_TEXT',
  }),
  title: Flags.string({
    description: 'postgres, mysql, sqlite: column with the name of a document',
    env: 'SERVICE_TITLE',
  }),
  key: listFlag('postgres, mysql, sqlite: column that identifies a row (default: the primary key)', 'SERVICE_KEY'),
  'updated-at': Flags.string({
    description: 'postgres, mysql, sqlite: column that changes whenever its row changes',
    env: 'SERVICE_UPDATED_AT',
  }),
  'event-time': Flags.string({
    description: 'postgres, mysql, sqlite: column with the time of a row',
    env: 'SERVICE_EVENT_TIME',
  }),
  readers: Flags.string({
    description:
      'postgres, mysql, sqlite: column with the readers of a row: email addresses and group:NAME, separated by commas',
    env: 'SERVICE_READERS',
  }),
  rights: Flags.boolean({
    description: 'gdrive, sharepoint: let only the people with whom a file is shared read its document',
    allowNo: true,
    env: 'SERVICE_RIGHTS',
  }),
  start: listFlag(
    'web: page to begin with (default: the sites of the connection); may be given several times',
    'SERVICE_START',
  ),
  sitemap: Flags.string({
    description: 'web: pages to read: auto (sitemaps and links), only (sitemaps) or off (links) (default: auto)',
    env: 'SERVICE_SITEMAP',
  }),
  depth: Flags.integer({ description: 'web: links to follow from a first page (default: 5)', env: 'SERVICE_DEPTH' }),
  pages: Flags.integer({
    description: 'web: maximum number of pages and files (default: 10000)',
    env: 'SERVICE_PAGES',
  }),
  folders: listFlag(
    'imap: name or pattern of a folder (default: INBOX); may be given several times',
    'SERVICE_FOLDERS',
  ),
  since: Flags.string({
    description: 'imap: only messages that arrived on this day or later, such as 2026-01-31',
    env: 'SERVICE_SINCE',
  }),
  attachments: Flags.boolean({
    description: 'imap: read attachments (default); with --no-attachments, only the text of messages',
    allowNo: true,
    env: 'SERVICE_ATTACHMENTS',
  }),
  spaces: listFlag('confluence: key of a space (default: all); may be given several times', 'SERVICE_SPACES'),
  drive: Flags.string({ description: 'gdrive: id of a shared drive', env: 'SERVICE_DRIVE' }),
  folder: Flags.string({ description: 'gdrive: id of a folder', env: 'SERVICE_FOLDER' }),
  library: Flags.string({ description: 'sharepoint: document library (default: the first)', env: 'SERVICE_LIBRARY' }),
  settings: Flags.string({
    description: 'all settings of the source as JSON, instead of the flags above',
    env: 'SERVICE_SETTINGS',
  }),
};

/** Values of `placeFlags` from the command line. */
type PlaceValues = {
  readonly [name in keyof typeof placeFlags]?: readonly string[] | string | number | boolean | undefined;
};

/** Build the `config` field of a source from its flags. @throws AppError `invalid_request` (400) */
export function placeConfigOf({ settings, ...flags }: PlaceValues): Record<string, unknown> {
  if (typeof settings === 'string') return jsonOf('settings', settings) as Record<string, unknown>;
  const config: Record<string, unknown> = {};
  for (const name of Object.keys(placeFlags) as (keyof typeof flags)[]) {
    const given = flags[name];
    const isList = 'multiple' in placeFlags[name] && placeFlags[name].multiple;
    const value = isList && (typeof given === 'string' || typeof given === 'object') ? listOf(given) : given;
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) config[name.replaceAll('-', '_')] = value;
  }
  return config;
}
