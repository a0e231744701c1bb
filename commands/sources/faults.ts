import { BaseCommand } from '../../src/cli/base-command.ts';
import { limitFlag, orgFlag, sourceArg, withVariables } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';

const FAULTS_MAX = 1000;

export default class SourcesFaults extends BaseCommand {
  static override description =
    'List the entries of a source that its last synchronisation could not read, with the reason.\n' +
    'Their documents stay. "sources sync SOURCE --entry KEY" reads one of them again.';
  static override examples = [
    '<%= config.bin %> sources faults handbook',
    '<%= config.bin %> sources faults handbook --limit 1000 --json',
  ];
  static override args = { source: sourceArg };
  static override flags = withVariables({ org: orgFlag, limit: limitFlag('entries', { max: FAULTS_MAX }) });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SourcesFaults);
    const faults = await this.call(flags, 'sources.faults', { source: args.source, limit: flags.limit });
    await this.showTable('entries with faults', faults, [
      ['entry', ({ key, is_folder: isFolder }) => (isFolder ? `${key}/` : key)],
      ['fault', ({ fault }) => fault, 'may be cut'],
      ['since', ({ since }) => since],
    ]);
    const [first] = faults;
    if (first !== undefined) {
      note(`read one again: ${this.config.bin} sources sync ${args.source} --entry '${first.key}'`);
    }
    return faults;
  }
}
