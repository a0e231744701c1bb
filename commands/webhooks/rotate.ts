import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { numberOf, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { webhookArg } from '../../src/cli/webhook-flags.ts';

export default class WebhooksRotate extends BaseCommand {
  static override description =
    'Replace the secret of a webhook. The command shows the new secret only once.\n' +
    'For 24 hours, or as --overlap-hours says, both secrets sign events, so that the receiver can switch to the new ' +
    'one without a gap.';
  static override examples = [
    '<%= config.bin %> webhooks rotate orders',
    '<%= config.bin %> webhooks rotate orders --overlap-hours 0 --json',
  ];
  static override args = { webhook: webhookArg };
  static override flags = withVariables({
    org: orgFlag,
    'overlap-hours': Flags.string({ description: 'hours for which both secrets sign events, up to 168 (default: 24)' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WebhooksRotate);
    const hours = numberOf('overlap-hours', flags['overlap-hours']);
    const request = { webhook: args.webhook, overlap_hours: hours };
    const webhook = await this.call(flags, 'webhooks.rotate', request, { overlap_hours: '--overlap-hours' });
    this.log(webhook.secret);
    const until = webhook.previous_secret_until;
    const old = until === null ? 'the old secret is void' : `the old secret signs events, too, until ${until}`;
    this.logToStderr(`made a secret of webhook ${webhook.name}; ${old}. Keep it; it is not shown again.`);
    return webhook;
  }
}
