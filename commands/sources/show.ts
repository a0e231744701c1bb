import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';

export default class SourcesShow extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Show a connected source: its settings, its state, the counts of its last synchronisation, and its last error.';
  static override examples = [
    '<%= config.bin %> sources show handbook',
    '<%= config.bin %> sources show handbook --org acme --json',
  ];
  static override args = {
    source: Args.string({ description: 'name or id of the source', required: true, ignoreStdin: true }),
  };
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesShow);
    const source = await this.call(flags, 'sources.show', { source: args.source });
    await this.showFields(source);
    return source;
  }
}
