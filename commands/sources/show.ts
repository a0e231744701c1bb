import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, sourceArg, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';

/** Maximum number of faulty entries to show. */
const FAULTS_SHOWN = 20;

export default class SourcesShow extends BaseCommand {
  static override description =
    'Show a connected source: its settings, its state, the counts of its last synchronisation, its last error, and ' +
    'the first entries that could not be read.';
  static override examples = [
    '<%= config.bin %> sources show handbook',
    '<%= config.bin %> sources show handbook --org acme --json',
  ];
  static override args = { source: sourceArg };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesShow);
    return this.withSession(flags, async (session) => {
      const source = await session.call('sources.show', { source: args.source });
      const faults = await session.call('sources.faults', { source: source.id, limit: FAULTS_SHOWN });
      await this.showFields(source);
      for (const { key, is_folder: isFolder, fault } of faults) this.log(`${key}${isFolder ? '/' : ''}: ${fault}`);
      if (source.counts.failed > faults.length) {
        note(`these are the first; list all: ${this.config.bin} sources faults ${source.name}`);
      }
      return { ...source, faults };
    });
  }
}
