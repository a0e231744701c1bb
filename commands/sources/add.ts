import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { bucketFlag, jsonOf, listOf, orgFlag } from '../../src/cli/flags.ts';

const list = (description: string, env: string) =>
  Flags.string({ description, multiple: true, multipleNonGreedy: true, env });

export default class SourcesAdd extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Connect a folder, a bucket on S3, a PostgreSQL table, a mailbox or a WebDAV server, whose contents are kept as ' +
    'documents of a bucket.\n' +
    'The places that may be read are connections under "sources" in service.yaml. Nothing is read before the first ' +
    '"sources sync", unless there is a schedule.';
  static override examples = [
    '<%= config.bin %> sources add handbook --connection docs --bucket manuals --path handbook --include "**/*.md"',
    '<%= config.bin %> sources add articles --connection crm --table articles --text "{{title}} {{body}}" --schedule "0 * * * *"',
  ];
  static override args = {
    name: Args.string({ description: 'name of the source', required: true, ignoreStdin: true }),
  };
  static override flags = {
    org: orgFlag,
    bucket: bucketFlag,
    connection: Flags.string({
      description: 'name of a connection in service.yaml',
      required: true,
      env: 'SERVICE_CONNECTION',
    }),
    path: Flags.string({ description: 'folder, webdav: path below the root of the connection', env: 'SERVICE_PATH' }),
    prefix: Flags.string({ description: 's3: beginning of the keys', env: 'SERVICE_PREFIX' }),
    include: list('folder, s3, webdav: pattern of paths to take; may be given several times', 'SERVICE_INCLUDE'),
    exclude: list('folder, s3, webdav: pattern of paths to leave out; may be given several times', 'SERVICE_EXCLUDE'),
    schema: Flags.string({ description: 'postgres: schema of the table (default: public)', env: 'SERVICE_SCHEMA' }),
    table: Flags.string({ description: 'postgres: table or view', env: 'SERVICE_TABLE' }),
    text: Flags.string({
      description: 'postgres: template of a document, such as "{{title}} {{body}}"',
      env: 'SERVICE_TEXT',
    }),
    title: Flags.string({ description: 'postgres: column with the name of a document', env: 'SERVICE_TITLE' }),
    key: list('postgres: column that identifies a row (default: the primary key)', 'SERVICE_KEY'),
    'updated-at': Flags.string({
      description: 'postgres: column that changes whenever its row changes',
      env: 'SERVICE_UPDATED_AT',
    }),
    'event-time': Flags.string({ description: 'postgres: column with the time of a row', env: 'SERVICE_EVENT_TIME' }),
    folder: list('imap: name or pattern of a folder (default: INBOX); may be given several times', 'SERVICE_FOLDER'),
    since: Flags.string({
      description: 'imap: only messages that arrived on this day or later, such as 2026-01-31',
      env: 'SERVICE_SINCE',
    }),
    attachments: Flags.boolean({
      description: 'imap: read attachments (default), or only the text of messages with --no-attachments',
      allowNo: true,
      env: 'SERVICE_ATTACHMENTS',
    }),
    settings: Flags.string({
      description: 'all settings of the source as JSON, instead of the flags above',
      env: 'SERVICE_SETTINGS',
    }),
    tag: list('key:value that searches can filter by; may be given several times', 'SERVICE_TAG'),
    schedule: Flags.string({
      description: 'cron expression of five fields, in UTC, such as "30 2 * * *"',
      env: 'SERVICE_SCHEDULE',
    }),
    user: Flags.string({ description: 'id or email of the owner (default: the organization)', env: 'SERVICE_USER' }),
    versions: Flags.string({
      description: 'replace or keep earlier versions of changed entries (default: replace)',
      env: 'SERVICE_VERSIONS',
    }),
    'privacy-level': Flags.integer({
      description: 'privacy level of its documents, 1 to 10 (default: 1)',
      env: 'SERVICE_PRIVACY_LEVEL',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesAdd);
    const { path, prefix, schema, table, text, title, since, attachments } = flags;
    const lists = {
      include: listOf(flags.include),
      exclude: listOf(flags.exclude),
      key: listOf(flags.key),
      folders: listOf(flags.folder),
    };
    const given = {
      path,
      prefix,
      schema,
      table,
      text,
      title,
      since,
      attachments,
      updated_at: flags['updated-at'],
      event_time: flags['event-time'],
      ...Object.fromEntries(Object.entries(lists).filter(([, items]) => items.length > 0)),
    };
    const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const request = {
      name: args.name,
      connection: flags.connection,
      bucket: flags.bucket,
      config: flags.settings === undefined ? own : jsonOf('settings', flags.settings),
      tags: listOf(flags.tag),
      schedule: flags.schedule,
      user_id: flags.user,
      versions: flags.versions,
      privacy_level: flags['privacy-level'],
    };
    const config = flags.settings === undefined ? `settings of connection ${flags.connection}` : '--settings';
    const names = { name: 'NAME', config, tags: '--tag', user_id: '--user' };
    const source = await this.call(flags, 'sources.add', request, names);
    this.log(`connected ${source.name} (${source.id}); read it with: ${this.config.bin} sources sync ${source.name}`);
    return source;
  }
}
