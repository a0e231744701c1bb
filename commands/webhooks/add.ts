import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { listOf, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';
import { asTyped } from '../../src/cli/output.ts';
import { addressDescription, eventFlag } from '../../src/cli/webhook-flags.ts';

export default class WebhooksAdd extends BaseCommand {
  static override description =
    'Have events posted to an address: states of jobs, documents, sources and workflow runs, and quotas.\n' +
    'The command shows the secret of the signatures only once. Addresses of your own network must be listed under ' +
    'webhooks.networks in service.yaml.';
  static override examples = [
    '<%= config.bin %> webhooks add orders --address https://example.com/hooks',
    '<%= config.bin %> webhooks add alarms --address https://example.com/alarms --event job.failed --event source.failed --json',
  ];
  static override args = { name: requiredArg('name of the webhook') };
  static override flags = withVariables({
    org: orgFlag,
    address: Flags.string({ description: addressDescription, required: true }),
    event: eventFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WebhooksAdd);
    const events = flags.event === undefined ? undefined : listOf(flags.event);
    const names = { name: 'NAME', url: '--address', events: '--event' };
    const webhook = await this.call(flags, 'webhooks.add', { name: args.name, url: flags.address, events }, names);
    this.log(webhook.secret);
    this.logToStderr(`added webhook ${webhook.name} (${webhook.id}). Keep its secret; it is not shown again.`);
    this.logToStderr(asTyped(`send it an event: ${this.config.bin} webhooks test ${webhook.name}`));
    return webhook;
  }
}
