import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag } from '../../src/cli/flags.ts';
import { listPage } from '../../src/cli/list-page.ts';

export default class UsersList extends BaseCommand {
  static override setsUp = false;
  static override description = 'List the users of an organization, newest first.';
  static override examples = ['<%= config.bin %> users list', '<%= config.bin %> users list --org acme --json'];
  static override flags = { org: orgFlag };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(UsersList);
    return this.withOperator(flags, async ({ sql }, operator) => {
      const { listUsers } = await import('../../src/access/users.ts');
      const { LIST_ROWS_MAX } = await import('../../src/access/schema.ts');
      const users = await listUsers(sql, operator);
      await this.showTable('users', users, [
        ['id', (user) => user.id],
        ['email', (user) => user.email, 'may be cut'],
        ['role', (user) => user.role],
        ['auth level', (user) => user.auth_level],
        ['department', (user) => user.department, 'may be cut'],
        ['suspended', (user) => user.suspended_at],
      ]);
      return listPage(users, LIST_ROWS_MAX);
    });
  }
}
