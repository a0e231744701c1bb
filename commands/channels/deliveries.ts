import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { limitFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';

const RECORDS_MAX = 1000;

export default class ChannelsDeliveries extends BaseCommand {
  static override description =
    'List the messages that channels received, newest first, with the outcome of each and the reason for a failure.\n' +
    'The column "sent later" shows the status of replies that the service sends to the platform afterwards; ' +
    '"uncertain" means that the platform may have received the reply. The texts of messages are not kept. The ' +
    'setting channels.delivery_days says how long records are kept.';
  static override examples = [
    '<%= config.bin %> channels deliveries',
    '<%= config.bin %> channels deliveries --channel chn_01h8 --limit 200 --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    channel: Flags.string({ description: 'list only deliveries to this configuration' }),
    limit: limitFlag('deliveries', { max: RECORDS_MAX }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ChannelsDeliveries);
    const page = await this.call(flags, 'channels.deliveries', { channel: flags.channel, limit: flags.limit });
    await this.showTable('deliveries', page.data, [
      ['received', (delivery) => delivery.received_at],
      ['channel', (delivery) => delivery.channel_config_id],
      ['outcome', (delivery) => delivery.outcome ?? delivery.status],
      ['ms', (delivery) => delivery.duration_ms],
      ['sent later', (delivery) => delivery.later_status],
      ['reason', (delivery) => delivery.later_reason],
    ]);
    return page;
  }
}
