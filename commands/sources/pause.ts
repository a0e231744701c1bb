import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, sourceArg, withVariables } from '../../src/cli/flags.ts';
import { asTyped } from '../../src/cli/output.ts';

export default class SourcesPause extends BaseCommand {
  static override description =
    'Pause a source: stop its synchronisation if one is running, and start none until "sources resume".\n' +
    'Its documents can still be searched. What the stopped synchronisation has finished stays.';
  static override examples = [
    '<%= config.bin %> sources pause handbook',
    '<%= config.bin %> sources pause handbook --org acme --json',
  ];
  static override args = { source: sourceArg };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesPause);
    const source = await this.call(flags, 'sources.change', { source: args.source, paused: true });
    this.log(asTyped(`paused ${source.name}; go on with: ${this.config.bin} sources resume ${source.name}`));
    return source;
  }
}
