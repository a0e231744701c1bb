import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class RoutingSet extends BaseCommand {
  static override description =
    'Choose the default model for requests that name none.\nWith --fallback, another model takes over while its provider is down.';
  static override examples = [
    '<%= config.bin %> routing set vendor-a/text-embedding-3-small --fallback vendor-e/embeddings-v3',
    '<%= config.bin %> routing set service-embed-1-small --org acme --json',
  ];
  static override args = { primary: requiredArg('id of the model, as in "models list"') };
  static override flags = withVariables({
    org: orgFlag,
    fallback: Flags.string({ description: 'id of the model to use while the provider of the first one is down' }),
    'routing-mode': Flags.string({
      description: 'single or fallback (default: fallback if --fallback is given, else single)',
    }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(RoutingSet);
    const mode = flags['routing-mode'] ?? (flags.fallback === undefined ? 'single' : 'fallback');
    const request = { primary: args.primary, fallback: flags.fallback, mode };
    const names = { primary: 'PRIMARY', mode: '--routing-mode' };
    const { warnings, ...routing } = await this.call(flags, 'embedding.setRouting', request, names);
    await this.showFields(routing);
    for (const warning of warnings) this.logToStderr(`warning: ${warning}`);
    return { ...routing, warnings };
  }
}
