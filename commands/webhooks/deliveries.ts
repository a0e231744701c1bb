import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { limitFlag, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { webhookArg } from '../../src/cli/webhook-flags.ts';

const DELIVERIES_MAX = 200;

export default class WebhooksDeliveries extends BaseCommand {
  static override description =
    'List the deliveries of a webhook, newest first, with the reason for a failure.\n' +
    'Deliveries are listed for 7 days, failed ones for 30 days.';
  static override examples = [
    '<%= config.bin %> webhooks deliveries orders',
    '<%= config.bin %> webhooks deliveries orders --status failed --limit 200 --json',
  ];
  static override args = { webhook: webhookArg };
  static override flags = withVariables({
    org: orgFlag,
    status: Flags.string({ description: 'list only pending, delivered or failed ones' }),
    limit: limitFlag('deliveries', { max: DELIVERIES_MAX }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WebhooksDeliveries);
    const request = { webhook: args.webhook, status: flags.status, limit: flags.limit };
    const page = await this.call(flags, 'webhooks.deliveries', request, { status: '--status' });
    await this.showTable('deliveries', page.data, [
      ['id', ({ id }) => id],
      ['type', ({ type }) => type],
      ['object', (delivery) => delivery.object_id, 'may be cut'],
      ['occurred', (delivery) => delivery.occurred_at],
      ['status', ({ status }) => status],
      ['tries', ({ tries }) => tries],
      ['next try', (delivery) => delivery.next_try_at],
      ['error', ({ error }) => error, 'may be cut'],
    ]);
    return page;
  }
}
