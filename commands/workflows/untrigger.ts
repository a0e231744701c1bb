import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class WorkflowsUntrigger extends BaseCommand {
  static override description = 'Remove a trigger of a workflow. Runs that it started continue.';
  static override examples = [
    '<%= config.bin %> workflows untrigger "Sort invoices" trg_01k9',
    '<%= config.bin %> workflows untrigger "Sort invoices" trg_01k9 --json',
  ];
  static override args = {
    workflow: requiredArg('name or id of the workflow'),
    trigger: requiredArg('id of the trigger'),
  };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WorkflowsUntrigger);
    const removed = await this.call(flags, 'workflows.untrigger', args);
    this.log(`removed trigger ${args.trigger}`);
    return removed;
  }
}
