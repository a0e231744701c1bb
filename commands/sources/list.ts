import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class SourcesList extends BaseCommand {
  static override description =
    'List the connected sources of an organization.\nWith --json the output is the response of GET /v1/memory/sources.';
  static override examples = [
    '<%= config.bin %> sources list',
    '<%= config.bin %> sources list --user ann@example.com --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    user: Flags.string({
      description: 'id or email of a user, to list only the sources of that user and of the organization',
    }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SourcesList);
    const sources = await this.call(flags, 'sources.list', { user: flags.user });
    await this.showTable('sources', sources, [
      ['id', (source) => source.id],
      ['name', (source) => source.name],
      ['type', (source) => source.type],
      ['state', (source) => source.sync_state],
      ['documents', (source) => source.indexed_document_count],
      ['last synced', (source) => source.last_synced_at],
      ['next', (source) => source.next_sync_at],
      ['error', (source) => source.error_message, 'may be cut'],
    ]);
    return sources;
  }
}
