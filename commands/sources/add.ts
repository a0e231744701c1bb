import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import {
  accessFlags,
  accessOf,
  bucketFlag,
  listFlag,
  listOf,
  orgFlag,
  requiredArg,
  withVariables,
} from '../../src/cli/flags.ts';
import { asTyped } from '../../src/cli/output.ts';
import { connectionFlag, placeConfigOf, placeFlags } from '../../src/cli/source-flags.ts';

export default class SourcesAdd extends BaseCommand {
  static override description =
    'Connect a source whose contents become documents of a bucket: a folder, a bucket on S3, a WebDAV server, a Git ' +
    'repository, a website, a mailbox, a table, or an account on the internet.\n' +
    'Sources can read only the connections under "sources" in service.yaml. Without a schedule, the service reads ' +
    'nothing until you run "sources sync".';
  static override examples = [
    '<%= config.bin %> sources add handbook --connection docs --bucket manuals --path handbook --include "**/*.md"',
    '<%= config.bin %> sources add articles --connection crm --table articles --text "{{title}} {{body}}" --schedule "0 * * * *"',
    '<%= config.bin %> sources add guide --connection site --start https://docs.example.com/guide/ --exclude "**/*print=*"',
  ];
  static override args = { name: requiredArg('name of the source') };
  static override flags = withVariables({
    org: orgFlag,
    bucket: bucketFlag,
    connection: connectionFlag({ required: true }),
    ...placeFlags,
    tag: listFlag('key:value that searches can filter by; may be given several times'),
    schedule: Flags.string({ description: 'cron expression of five fields, in UTC, such as "30 2 * * *"' }),
    user: Flags.string({ description: 'id or email of the owner (default: the organization)' }),
    versions: Flags.string({ description: 'replace or keep earlier versions of changed entries (default: replace)' }),
    ...accessFlags,
    'privacy-level': Flags.integer({ description: 'privacy level of its documents, 1 to 10 (default: 1)' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesAdd);
    const request = {
      name: args.name,
      connection: flags.connection,
      bucket: flags.bucket,
      config: placeConfigOf(flags),
      tags: listOf(flags.tag),
      schedule: flags.schedule,
      user_id: flags.user,
      versions: flags.versions,
      privacy_level: flags['privacy-level'],
      access: accessOf(flags),
    };
    const config = flags.settings === undefined ? `settings of connection ${flags.connection}` : '--settings';
    const names = { name: 'NAME', config, tags: '--tag', user_id: '--user' };
    const source = await this.call(flags, 'sources.add', request, names);
    this.log(`connected ${source.name} (${source.id})`);
    this.log(asTyped(`see what it would read: ${this.config.bin} sources test ${source.name}`));
    this.log(asTyped(`read it: ${this.config.bin} sources sync ${source.name}`));
    return source;
  }
}
