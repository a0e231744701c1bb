import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';
import { webhookArg } from '../../src/cli/webhook-flags.ts';

export default class WebhooksShow extends BaseCommand {
  static override description = 'Show a webhook: its address, its events and its state, without its secret.';
  static override examples = [
    '<%= config.bin %> webhooks show orders',
    '<%= config.bin %> webhooks show orders --org acme --json',
  ];
  static override args = { webhook: webhookArg };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WebhooksShow);
    const webhook = await this.call(flags, 'webhooks.show', { webhook: args.webhook });
    await this.showFields(webhook);
    return webhook;
  }
}
