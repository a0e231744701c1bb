import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { withVariables } from '../../src/cli/flags.ts';

export default class KeysPrefix extends BaseCommand {
  static override description =
    'Set a prefix for the ids of new API keys, by which a proxy can route requests to this installation.\n' +
    'Existing keys do not change.';
  static override examples = ['<%= config.bin %> keys prefix b01', '<%= config.bin %> keys prefix --none --json'];
  static override args = { prefix: Args.string({ description: 'one to three letters and digits', ignoreStdin: true }) };
  static override flags = withVariables({ none: Flags.boolean({ description: 'use no prefix from now on' }) });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(KeysPrefix);
    if ((args.prefix === undefined) === !flags.none) this.error('name a prefix, or use --none');
    const set = await this.call(flags, 'keys.setPrefix', { prefix: args.prefix ?? null }, { prefix: 'PREFIX' });
    this.log(
      set.prefix === null
        ? 'the ids of new keys have no prefix'
        : `the ids of new keys begin with ${set.prefix} (svc_${set.prefix}…)`,
    );
    return set;
  }
}
