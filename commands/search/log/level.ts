import { Args } from '@oclif/core';
import { BaseCommand } from '../../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../../src/cli/flags.ts';

export default class SearchLogLevel extends BaseCommand {
  static override description =
    'Show or choose what an organization keeps about its searches.\n' +
    'off: nothing. counts: numbers by day and bucket. queries: also the text of queries, but not who asked. default: ' +
    'the value of search.log in service.yaml. The setting search.log_max is the highest level that you can choose.';
  static override examples = [
    '<%= config.bin %> search log level',
    '<%= config.bin %> search log level queries --org acme --json',
  ];
  static override args = {
    level: Args.string({
      description: 'off, counts, queries or default; if left out, show the level',
      ignoreStdin: true,
    }),
  };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SearchLogLevel);
    const level = await this.call(flags, 'search.logLevel', { level: args.level }, { level: 'LEVEL' });
    await this.showFields({
      level: level.level,
      chosen: level.chosen ?? 'none',
      'at most': level.level_max,
      'queries kept': `${level.retention_days} days`,
    });
    return level;
  }
}
