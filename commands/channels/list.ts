import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class ChannelsList extends BaseCommand {
  static override description = 'List the messaging channels of an organization. Credentials are masked.';
  static override examples = ['<%= config.bin %> channels list', '<%= config.bin %> channels list --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ChannelsList);
    const list = await this.call(flags, 'channels.list', {});
    const field = (key: string) => (channel: (typeof list)[number]) => {
      const value = channel.config[key];
      return typeof value === 'string' ? value : null;
    };
    await this.showTable('channels', list, [
      ['id', (channel) => channel.id],
      ['name', (channel) => channel.name, 'may be cut'],
      ['provider', (channel) => channel.provider],
      ['bot', field('bot_id'), 'may be cut'],
      ['bucket', field('collection')],
      ['collection', field('bucket_collection')],
      ['public only', (channel) => (channel.config['public_only'] === true ? 'yes' : null)],
    ]);
    return list;
  }
}
