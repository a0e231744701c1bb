import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, withVariables } from '../../src/cli/flags.ts';

export default class GroupsList extends BaseCommand {
  static override description = 'List the groups of an organization, by name.';
  static override examples = ['<%= config.bin %> groups list', '<%= config.bin %> groups list --org acme --json'];
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(GroupsList);
    const page = await this.call(flags, 'groups.list', {});
    await this.showTable('groups', page.data, [
      ['name', (group) => group.name, 'may be cut'],
      ['display name', (group) => group.display_name, 'may be cut'],
      ['members', (group) => group.member_count],
      ['claim', (group) => group.claim, 'may be cut'],
    ]);
    return page;
  }
}
