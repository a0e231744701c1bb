import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { limitFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';

const RECORDS_MAX = 1000;

export default class ChannelsOutbox extends BaseCommand {
  static override description =
    'List the notifications of an organization, newest first, with their status and the reason for a failure.\n' +
    'Without channels.messenger.base_url in service.yaml, notifications are recorded here but not sent. ' +
    'The service sends a queued notification again; to prevent that, use "channels cancel". A question mark, as in ' +
    '"failed?", means that the provider may have sent the notification anyway. Records are kept for 90 days.';
  static override examples = [
    '<%= config.bin %> channels outbox',
    '<%= config.bin %> channels outbox --channel chn_01h8 --limit 200 --json',
  ];
  static override flags = withVariables({
    org: orgFlag,
    channel: Flags.string({ description: 'list only notifications of this configuration' }),
    limit: limitFlag('notifications', { max: RECORDS_MAX }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ChannelsOutbox);
    const page = await this.call(flags, 'channels.outbox', { channel: flags.channel, limit: flags.limit });
    await this.showTable('notifications', page.data, [
      ['id', (record) => record.id],
      ['requested', (record) => record.requested_at],
      ['via', (record) => record.via],
      ['status', (record) => (record.uncertain ? `${record.status}?` : record.status)],
      ['reason', (record) => record.reason],
      ['message id', (record) => record.message_id, 'may be cut'],
      ['phone', (record) => record.phone],
      ['template', (record) => record.template_code, 'may be cut'],
      ['arguments', (record) => JSON.stringify(record.template_args), 'may be cut'],
    ]);
    return page;
  }
}
