import { Flags } from '@oclif/core';
import { jsonOf, listFlag, listOf } from './flags.ts';

/** Create the flag that names a connection. */
export function connectionFlag({ required }: { readonly required: boolean }) {
  return Flags.string({ description: 'name of a connection in service.yaml', required });
}

/** Flags for the `config` field of a source. Each connection type uses some of them. */
export const placeFlags = {
  path: Flags.string({ description: 'folder, webdav, git, sharepoint: path below the root of the connection' }),
  prefix: Flags.string({ description: 's3: beginning of the keys' }),
  include: listFlag(
    'all with files or pages: pattern of paths to include (web: host/path); may be given several times',
  ),
  exclude: listFlag('all with files or pages: pattern of paths to exclude; may be given several times'),
  branch: Flags.string({ description: 'git: branch (default: the default branch of the repository)' }),
  schema: Flags.string({ description: 'postgres: schema of the table (default: public)' }),
  table: Flags.string({ description: 'postgres, mysql, sqlite: table or view' }),
  text: Flags.string({ description: 'postgres, mysql, sqlite: template of a document, such as "{{title}} {{body}}"' }),
  title: Flags.string({ description: 'postgres, mysql, sqlite: column with the name of a document' }),
  key: listFlag('postgres, mysql, sqlite: column that identifies a row (default: the primary key)'),
  'updated-at': Flags.string({ description: 'postgres, mysql, sqlite: column that changes whenever its row changes' }),
  'event-time': Flags.string({ description: 'postgres, mysql, sqlite: column with the time of a row' }),
  readers: Flags.string({
    description:
      'postgres, mysql, sqlite: column with the readers of a row: email addresses and group:NAME, separated by commas',
  }),
  rights: Flags.boolean({
    description: 'gdrive, sharepoint: let only the people with whom a file is shared read its document',
    allowNo: true,
  }),
  start: listFlag('web: page to begin with (default: the sites of the connection); may be given several times'),
  sitemap: Flags.string({
    description: 'web: pages to read: auto (sitemaps and links), only (sitemaps) or off (links) (default: auto)',
  }),
  depth: Flags.integer({ description: 'web: links to follow from a first page (default: 5)' }),
  pages: Flags.integer({ description: 'web: maximum number of pages and files (default: 10000)' }),
  folders: listFlag('imap: name or pattern of a folder (default: INBOX); may be given several times'),
  since: Flags.string({ description: 'imap: only messages that arrived on this day or later, such as 2026-01-31' }),
  attachments: Flags.boolean({
    description: 'imap: read attachments (default); with --no-attachments, only the text of messages',
    allowNo: true,
  }),
  spaces: listFlag('confluence: key of a space (default: all); may be given several times'),
  drive: Flags.string({ description: 'gdrive: id of a shared drive' }),
  folder: Flags.string({ description: 'gdrive: id of a folder' }),
  library: Flags.string({ description: 'sharepoint: document library (default: the first)' }),
  settings: Flags.string({ description: 'all settings of the source as JSON, instead of the flags above' }),
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
