import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class ModelsInstall extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Install a model that runs on this host: embedding by meaning without a vendor.\n' +
    'SOURCE is a folder, a tar archive, or an id at the hub (organization/name). The command fetches ' +
    'only the files that it needs, and checks each. If this is the first model, it can become the primary model and ' +
    'embed the buckets; with --yes it does.';
  static override examples = [
    '<%= config.bin %> models install intfloat/multilingual-e5-small --prompts e5 --yes',
    '<%= config.bin %> models install ./bge-reranker --reranker --as local/bge-reranker --json',
  ];
  static override args = { source: requiredArg('folder, tar archive or hub id of the model') };
  static override flags = withVariables({
    as: Flags.string({ description: 'name of the model: local/NAME (default: derived from the source)' }),
    revision: Flags.string({ description: 'branch, tag or commit at the hub (default: main)' }),
    variant: Flags.string({
      description: 'precision of the weights; int8 is smaller and faster, but its vectors differ slightly',
      options: ['fp32', 'fp16', 'int8'],
      default: 'fp32',
    }),
    reranker: Flags.boolean({ description: 'install a cross-encoder, which scores results' }),
    pooling: Flags.string({
      description: 'pooling of the token vectors, if the source does not specify it',
      options: ['mean', 'cls', 'last'],
    }),
    'max-tokens': Flags.integer({ description: 'maximum number of tokens in a text', min: 8 }),
    prompts: Flags.string({
      description: 'text put in front of inputs: none, e5, or a JSON file with prompts by name (query, document)',
    }),
    primary: Flags.boolean({
      description: 'make it the primary model and embed the buckets with it (default: ask if it is the first model)',
      allowNo: true,
    }),
    org: orgFlag,
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ModelsInstall);
    const { chooseName } = await import('../../src/local-models/install/open-source.ts');
    const { installRequest, runInstall } = await import('../../src/cli/install-model.ts');
    const request = { ...installRequest(flags), name: chooseName(args.source, flags.as) };
    return this.withOperator(flags, async (appliance, operator, signal) => {
      const { actor } = operator;
      const from = { source: args.source, revision: flags.revision, yes: flags.yes, actor, signal };
      const installed = await runInstall(appliance, from, request);
      const { adoptModel } = await import('../../src/cli/adopt-model.ts');
      const adopted = await adoptModel(appliance, operator, installed, { ...flags, signal });
      const { spec, revision } = installed;
      const { name, kind, variant, dimension, pooling } = spec;
      const bytes = spec.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      const view = { name, kind, revision, variant, dimension, max_tokens: spec.maxTokens, pooling, bytes };
      await this.showFields(view);
      return { ...view, prefixes: spec.prefixes, ...adopted };
    });
  }
}
