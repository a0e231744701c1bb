import { BaseCommand } from '../../src/cli/base-command.ts';
import { listPage } from '../../src/cli/list-page.ts';

export default class OrgsList extends BaseCommand {
  static override setsUp = false;
  static override description = 'List the organizations, newest first.';
  static override examples = ['<%= config.bin %> orgs list', '<%= config.bin %> orgs list --json'];

  async run(): Promise<unknown> {
    const { flags } = await this.parse(OrgsList);
    return this.withAppliance(flags, async ({ sql }) => {
      const { listOrganizations } = await import('../../src/access/organizations.ts');
      const { LIST_ROWS_MAX } = await import('../../src/access/schema.ts');
      const organizations = await listOrganizations(sql);
      await this.showTable('organizations', organizations, [
        ['id', (org) => org.id],
        ['name', (org) => org.name, 'may be cut'],
        ['plan', (org) => org.plan],
        ['created', (org) => org.created_at],
        ['suspended', (org) => org.suspended_at],
      ]);
      return listPage(organizations, LIST_ROWS_MAX);
    });
  }
}
