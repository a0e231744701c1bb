import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';
import { asTyped, note } from '../../src/cli/output.ts';
import { webhookArg } from '../../src/cli/webhook-flags.ts';

export default class WebhooksTest extends BaseCommand {
  static override description =
    'Send an event of the type webhook.test to a webhook.\nA server or reaper sends it, within about a second.';
  static override examples = [
    '<%= config.bin %> webhooks test orders',
    '<%= config.bin %> webhooks test orders --org acme --json',
  ];
  static override args = { webhook: webhookArg };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WebhooksTest);
    const delivery = await this.call(flags, 'webhooks.test', { webhook: args.webhook });
    this.log(`queued event ${delivery.id}`);
    note(asTyped(`see if it arrives: ${this.config.bin} webhooks deliveries ${args.webhook}`));
    return delivery;
  }
}
