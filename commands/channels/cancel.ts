import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class ChannelsCancel extends BaseCommand {
  static override description = 'Cancel a queued notification, so that it is not sent again.';
  static override examples = [
    '<%= config.bin %> channels cancel msg_01h8',
    '<%= config.bin %> channels cancel msg_01h8 --org acme --json',
  ];
  static override args = { notification: requiredArg('id of the notification, as in "channels outbox"') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ChannelsCancel);
    const cancelled = await this.call(flags, 'channels.cancel', { notification: args.notification });
    this.log(`cancelled ${args.notification}`);
    return cancelled;
  }
}
