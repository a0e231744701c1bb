import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';
import { parseRequest } from '../../src/cli/parse-request.ts';

export default class RoutingSet extends BaseCommand {
  static override setsUp = false;
  static override description =
    'Choose the model that embeds requests without a model.\nWith --fallback, another model is used while the provider of this one is down.';
  static override examples = [
    '<%= config.bin %> routing set vendor-a/text-embedding-3-small --fallback vendor-e/embeddings-v3',
    '<%= config.bin %> routing set service-embed-1-small --org acme --json',
  ];
  static override args = {
    primary: Args.string({ description: 'id of the model, as in "models list"', required: true, ignoreStdin: true }),
  };
  static override flags = {
    org: orgFlag,
    fallback: Flags.string({
      description: 'id of the model that is used while the provider of the first one is down',
      env: 'SERVICE_FALLBACK',
    }),
    'routing-mode': Flags.string({
      description: 'single or fallback (default: fallback if --fallback is given, else single)',
      env: 'SERVICE_ROUTING_MODE',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(RoutingSet);
    const { RoutingRequest } = await import('../../src/embedding/routing.ts');
    const mode = flags['routing-mode'] ?? (flags.fallback === undefined ? 'single' : 'fallback');
    const request = parseRequest(
      RoutingRequest,
      { primary: args.primary, fallback: flags.fallback, mode },
      { primary: 'PRIMARY', mode: '--routing-mode' },
    );
    return this.withOperator(flags, async ({ sql, embedding }, operator) => {
      const { warnOfOtherModels } = await import('../../src/search/bucket-model.ts');
      const { warnings: own, ...routing } = await embedding.routing.set(operator, request);
      const { backends } = embedding;
      const warnings = [...own, ...(await warnOfOtherModels({ sql, backends }, operator.orgId, routing.primary))];
      await this.showFields(routing);
      for (const warning of warnings) this.logToStderr(`warning: ${warning}`);
      return { ...routing, warnings };
    });
  }
}
