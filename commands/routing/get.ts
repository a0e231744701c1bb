import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class RoutingGet extends BaseCommand {
  static override description =
    'Show the default model for requests that name none, and its fallback for when the provider is down.';
  static override examples = ['<%= config.bin %> routing get', '<%= config.bin %> routing get --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RoutingGet);
    const { warnings, ...routing } = await this.call(flags, 'embedding.routing', {});
    await this.showFields(routing);
    for (const warning of warnings) this.logToStderr(`warning: ${warning}`);
    return { ...routing, warnings };
  }
}
