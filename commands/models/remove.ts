import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class ModelsRemove extends BaseCommand {
  static override description =
    'Remove an installed model and its files. If a bucket uses the model, first embed the bucket with another model ' +
    '(service index reembed).';
  static override examples = [
    '<%= config.bin %> models remove local/multilingual-e5-small',
    '<%= config.bin %> models remove local/bge-reranker --yes --json',
  ];
  static override args = { model: requiredArg('name of the model: local/NAME') };
  static override flags = withVariables({ yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ModelsRemove);
    return this.withOperator({ ...flags, org: 'default' }, async (appliance, { actor }, signal) => {
      const { selectLocalModel } = await import('../../src/local-models/store.ts');
      const { removeModel } = await import('../../src/local-models/remove-model.ts');
      if (await selectLocalModel(appliance.sql, args.model)) {
        await confirm(`Remove ${args.model} and its files?`, flags.yes, signal);
      }
      await removeModel(appliance, { name: args.model, actor }, signal);
      this.log(`${args.model} is removed`);
      return { removed: true, name: args.model };
    });
  }
}
