import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { note } from '../../src/cli/output.ts';

export default class ModelsAdopt extends BaseCommand {
  static override description =
    'Make a model the primary model of an organization, and embed its buckets with it.\n' +
    'Each bucket gets a job. Until the job is done, searches use the current vectors. The fallback stays if its ' +
    'vectors can be compared with those of the model.';
  static override examples = [
    '<%= config.bin %> models adopt local/semantic-1 --dry-run',
    '<%= config.bin %> models adopt local/semantic-1 --yes --json',
  ];
  static override args = { model: requiredArg('id of the model, as in "models list"') };
  static override flags = withVariables({
    org: orgFlag,
    'dry-run': Flags.boolean({ description: 'show what would be done, and change nothing' }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ModelsAdopt);
    return this.withOperator(flags, async (appliance, operator, signal) => {
      const { chooseFallback, makePrimary, reembedAll } = await import('../../src/cli/adopt-model.ts');
      const model = appliance.embedding.backends.catalog.find(args.model).id;
      if (flags['dry-run']) {
        const { text } = await chooseFallback(appliance, operator, model);
        if (text !== null) note(text);
        await reembedAll(appliance, operator, model, { dryRun: true });
        return { model, dry_run: true, jobs: [] };
      }
      const question = `Make ${model} the primary model of organization ${flags.org}, and embed its buckets with it?`;
      await confirm(question, flags.yes, signal);
      const { jobs } = await makePrimary(appliance, operator, model, flags.org);
      return { model, dry_run: false, jobs };
    });
  }
}
