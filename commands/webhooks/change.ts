import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { listOf, orgFlag, withVariables } from '../../src/cli/flags.ts';
import { addressFlag, eventFlag, webhookArg } from '../../src/cli/webhook-flags.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class WebhooksChange extends BaseCommand {
  static override description =
    'Change the name, the address or the events of a webhook, or disable or enable it.\n' +
    'A disabled webhook gets no events; events that wait for delivery are dropped.';
  static override examples = [
    '<%= config.bin %> webhooks change orders --address https://example.com/new-hooks',
    '<%= config.bin %> webhooks change orders --event job.failed --event document.ready',
    '<%= config.bin %> webhooks change orders --enable',
  ];
  static override args = { webhook: webhookArg };
  static override flags = withVariables({
    org: orgFlag,
    name: Flags.string({ description: 'new name' }),
    address: addressFlag,
    event: eventFlag,
    enable: Flags.boolean({ description: 'send events to it again', exclusive: ['disable'] }),
    disable: Flags.boolean({ description: 'send no events to it' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WebhooksChange);
    const { name, address: url } = flags;
    const events = flags.event === undefined ? undefined : listOf(flags.event);
    const enabled = flags.enable ? true : flags.disable ? false : undefined;
    const change = { name, url, events, enabled };
    if (Object.values(change).every((value) => value === undefined)) {
      throw invalidRequest('name what to change: --name, --address, --event, --enable or --disable');
    }
    const webhook = await this.call(flags, 'webhooks.change', { webhook: args.webhook, change });
    await this.showFields(webhook);
    return webhook;
  }
}
