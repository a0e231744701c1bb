import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class WorkflowsTriggers extends BaseCommand {
  static override description = 'List the triggers of a workflow, with the reason if the last start of one failed.';
  static override examples = [
    '<%= config.bin %> workflows triggers "Sort invoices"',
    '<%= config.bin %> workflows triggers "Sort invoices" --json',
  ];
  static override args = { workflow: requiredArg('name or id of the workflow') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WorkflowsTriggers);
    const page = await this.call(flags, 'workflows.triggers', { workflow: args.workflow });
    await this.showTable('triggers', page.data, [
      ['id', ({ id }) => id],
      ['kind', ({ kind }) => kind],
      ['by', (trigger) => trigger.schedule ?? trigger.bucket_id ?? trigger.webhook_path, 'may be cut'],
      ['mode', ({ mode }) => mode],
      ['next', (trigger) => trigger.next_start_at],
      ['last', (trigger) => trigger.last_started_at],
      ['error', (trigger) => trigger.last_error, 'may be cut'],
    ]);
    return page;
  }
}
