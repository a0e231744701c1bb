import { BaseCommand } from '../../src/cli/base-command.ts';

export default class OrgsList extends BaseCommand {
  static override description = 'List the organizations, newest first.';
  static override examples = ['<%= config.bin %> orgs list', '<%= config.bin %> orgs list --json'];

  async run(): Promise<unknown> {
    const { flags } = await this.parse(OrgsList);
    const page = await this.call(flags, 'organizations.list', {});
    await this.showTable('organizations', page.data, [
      ['id', (org) => org.id],
      ['name', (org) => org.name, 'may be cut'],
      ['plan', (org) => org.plan],
      ['created', (org) => org.created_at],
      ['suspended', (org) => org.suspended_at],
      ['move', (org) => org.move_state],
    ]);
    return page;
  }
}
