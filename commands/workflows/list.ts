import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';

export default class WorkflowsList extends BaseCommand {
  static override setsUp = false;
  static override description =
    'List the workflows of an organization.\nWith --json the output is the response of GET /v1/workflows.';
  static override examples = ['<%= config.bin %> workflows list', '<%= config.bin %> workflows list --org acme --json'];
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(WorkflowsList);
    return this.withOperator(flags, async ({ sql }, operator) => {
      const { listWorkflows } = await import('../../src/workflows/workflows.ts');
      const data = await listWorkflows(sql, operator.orgId);
      await this.showTable('workflows', data, [
        ['id', (workflow) => workflow.id],
        ['name', (workflow) => workflow.name, 'may be cut'],
        ['status', (workflow) => workflow.status],
        ['published', (workflow) => workflow.published_version],
        ['latest', (workflow) => workflow.latest_version],
        ['updated', (workflow) => workflow.updated_at],
      ]);
      return { object: 'list', data, has_more: false, next_cursor: null };
    });
  }
}
