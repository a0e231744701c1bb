import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class WebhooksList extends BaseCommand {
  static override description = 'List the webhooks of an organization, by name, with their state.';
  static override examples = ['<%= config.bin %> webhooks list', '<%= config.bin %> webhooks list --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(WebhooksList);
    const page = await this.call(flags, 'webhooks.list', {});
    await this.showTable('webhooks', page.data, [
      ['name', ({ name }) => name, 'may be cut'],
      ['url', ({ url }) => url, 'may be cut'],
      ['events', ({ events }) => events.length],
      ['state', ({ enabled, failing_since: since }) => (!enabled ? 'disabled' : since === null ? 'works' : 'fails')],
      ['since', ({ failing_since: since }) => since],
      ['reason', ({ disabled_reason: reason }) => reason, 'may be cut'],
      ['id', ({ id }) => id],
    ]);
    return page;
  }
}
