import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { limitFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

const RUNS_MAX = 200;

export default class WorkflowsRuns extends BaseCommand {
  static override description =
    'List the runs of a workflow, newest first, or show one of them with the results of its blocks.\n' +
    'Runs are kept for 90 days.';
  static override examples = [
    '<%= config.bin %> workflows runs "Weekly report"',
    '<%= config.bin %> workflows runs "Weekly report" run_01h8 --json',
  ];
  static override args = {
    workflow: requiredArg('name or id of the workflow'),
    run: Args.string({ description: 'id of the run to show', ignoreStdin: true }),
  };
  static override flags = withVariables({
    org: orgFlag,
    limit: limitFlag('runs', { max: RUNS_MAX }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(WorkflowsRuns);
    const { workflow, run: id } = args;
    const { BLOCK_COLUMNS } = await import('../../src/cli/workflow-views.ts');
    if (id !== undefined) {
      const run = await this.call(flags, 'workflows.run', { workflow, run: id });
      const { blocks, continued_by, ...fields } = run;
      await this.showFields({ ...fields, continued_by: continued_by?.run_id ?? null });
      await this.showTable('blocks', blocks, BLOCK_COLUMNS);
      return run;
    }
    const page = await this.call(flags, 'workflows.runs', { workflow, limit: flags.limit });
    await this.showTable('runs', page.data, [
      ['id', (run) => run.run_id],
      ['started', (run) => run.started_at],
      ['mode', (run) => run.mode],
      ['version', (run) => run.version],
      ['status', (run) => run.status],
      ['continued by', (run) => run.continued_by?.run_id ?? null],
      ['by', (run) => run.actor, 'may be cut'],
      ['error', (run) => run.error, 'may be cut'],
    ]);
    return page;
  }
}
