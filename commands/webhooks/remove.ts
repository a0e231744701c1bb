import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { webhookArg } from '../../src/cli/webhook-flags.ts';

export default class WebhooksRemove extends BaseCommand {
  static override description =
    'Remove a webhook with its secret and its list of deliveries. Events that wait are not sent.';
  static override examples = [
    '<%= config.bin %> webhooks remove orders',
    '<%= config.bin %> webhooks remove orders --yes --json',
  ];
  static override args = { webhook: webhookArg };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WebhooksRemove);
    return this.withSession(flags, async (session, signal) => {
      const { id, name } = await session.call('webhooks.show', { webhook: args.webhook });
      await confirm(`This removes the webhook ${name} (${id}) with its secret. Remove it?`, flags.yes, signal);
      const removed = await session.call('webhooks.remove', { webhook: id });
      this.log(`removed webhook ${name} (${id})`);
      return removed;
    });
  }
}
