import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class ChannelsDelete extends BaseCommand {
  static override description =
    'Delete the configuration of a messaging channel with its credentials. This cannot be undone.';
  static override examples = [
    '<%= config.bin %> channels delete support',
    '<%= config.bin %> channels delete chn_01h8 --yes --json',
  ];
  static override args = { channel: requiredArg('id of the configuration, its bot_id, or its name') };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ChannelsDelete);
    return this.withSession(flags, async (session, signal) => {
      const { id, name } = await session.call('channels.find', { channel: args.channel });
      await confirm(`This deletes the channel ${name} (${id}) with its credentials. Delete it?`, flags.yes, signal);
      const deleted = await session.call('channels.remove', { channel: id });
      this.log(`deleted channel ${name} (${id})`);
      return deleted;
    });
  }
}
