import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, sourceArg, withVariables } from '../../src/cli/flags.ts';

export default class SourcesResume extends BaseCommand {
  static override description =
    'Resume a paused source. A synchronisation is queued at once, and continues where the stopped one ended.';
  static override examples = [
    '<%= config.bin %> sources resume handbook',
    '<%= config.bin %> sources resume handbook --org acme --json',
  ];
  static override args = { source: sourceArg };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesResume);
    const source = await this.call(flags, 'sources.change', { source: args.source, paused: false });
    this.log(`resumed ${source.name}; a synchronisation is queued`);
    return source;
  }
}
