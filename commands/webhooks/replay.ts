import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';
import { webhookArg } from '../../src/cli/webhook-flags.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class WebhooksReplay extends BaseCommand {
  static override description =
    'Send one delivery again, or all failed deliveries since a time.\n' +
    'Each delivery keeps its id, so that the receiver can ignore one that it already has.';
  static override examples = [
    '<%= config.bin %> webhooks replay orders msg_5f0c',
    '<%= config.bin %> webhooks replay orders --failed-since 2026-05-01T00:00:00Z',
  ];
  static override args = {
    webhook: webhookArg,
    delivery: Args.string({ description: 'id of the delivery', ignoreStdin: true }),
  };
  static override flags = withVariables({
    org: orgFlag,
    'failed-since': Flags.string({
      description: 'replay the failed deliveries of events since this time, such as 2026-05-01T00:00:00Z',
    }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WebhooksReplay);
    const { webhook, delivery } = args;
    const since = flags['failed-since'];
    if ((delivery === undefined) === (since === undefined)) {
      throw invalidRequest('name one delivery, or a time with --failed-since');
    }
    if (delivery !== undefined) {
      const replayed = await this.call(flags, 'webhooks.replay', { webhook, delivery });
      this.log(`queued event ${replayed.id}`);
      return replayed;
    }
    const reply = await this.call(flags, 'webhooks.replaySome', { webhook, since }, { since: '--failed-since' });
    this.log(`queued ${reply.replayed} ${reply.replayed === 1 ? 'event' : 'events'}`);
    return reply;
  }
}
