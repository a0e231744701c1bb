import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class UsersList extends BaseCommand {
  static override description = 'List the users of an organization, newest first.';
  static override examples = ['<%= config.bin %> users list', '<%= config.bin %> users list --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(UsersList);
    const page = await this.call(flags, 'users.list', {});
    await this.showTable('users', page.data, [
      ['id', (user) => user.id],
      ['email', (user) => user.email, 'may be cut'],
      ['role', (user) => user.role],
      ['auth level', (user) => user.auth_level],
      ['department', (user) => user.department, 'may be cut'],
      ['suspended', (user) => user.suspended_at],
    ]);
    return page;
  }
}
