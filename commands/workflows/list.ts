import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class WorkflowsList extends BaseCommand {
  static override description =
    'List the workflows of an organization.\nWith --json the output is the response of GET /v1/workflows.';
  static override examples = ['<%= config.bin %> workflows list', '<%= config.bin %> workflows list --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(WorkflowsList);
    const page = await this.call(flags, 'workflows.list', {});
    await this.showTable('workflows', page.data, [
      ['id', (workflow) => workflow.id],
      ['name', (workflow) => workflow.name, 'may be cut'],
      ['status', (workflow) => workflow.status],
      ['published', (workflow) => workflow.published_version],
      ['latest', (workflow) => workflow.latest_version],
      ['updated', (workflow) => workflow.updated_at],
    ]);
    return page;
  }
}
