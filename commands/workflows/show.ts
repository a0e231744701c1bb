import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class WorkflowsShow extends BaseCommand {
  static override description =
    'Show a workflow: its versions, and the inputs and blocks of one of them.\n' +
    'With --json the output is the response of GET /v1/workflows/{id}, which has the whole definition.';
  static override examples = [
    '<%= config.bin %> workflows show "Weekly report"',
    '<%= config.bin %> workflows show "Weekly report" --at-version 2 --json',
  ];
  static override args = { workflow: requiredArg('name or id of the workflow') };
  static override flags = withVariables({
    org: orgFlag,
    'at-version': Flags.integer({ description: 'version to show (default: the latest)', min: 1 }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WorkflowsShow);
    const request = { workflow: args.workflow, at_version: flags['at-version'] };
    const { workflow, changing } = await this.call(flags, 'workflows.show', request);
    const { describeWorkflow } = await import('../../src/cli/workflow-views.ts');
    const { fields, blocks } = describeWorkflow(workflow, changing);
    await this.showFields(fields);
    await this.showTable('blocks', blocks, [
      ['block', (block) => block.id],
      ['type', (block) => block.type],
      ['changes things', (block) => (block.hasSideEffect ? 'yes, needs approval' : 'no')],
      ['after', (block) => block.after.join(', ')],
      ['if', (block) => block.condition, 'may be cut'],
      ['arguments', (block) => block.args, 'may be cut'],
    ]);
    return workflow;
  }
}
