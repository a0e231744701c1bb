import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class GroupsShow extends BaseCommand {
  static override description = 'Show a group and its members.';
  static override examples = [
    '<%= config.bin %> groups show legal',
    '<%= config.bin %> groups show legal --org acme --json',
  ];
  static override args = { group: requiredArg('name of the group') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(GroupsShow);
    const group = await this.call(flags, 'groups.show', { group: args.group });
    await this.showTable('members', group.members, [
      ['member', ({ member }) => member],
      ['email', ({ email }) => email, 'may be cut'],
      ['named by', ({ from_claim }) => (from_claim ? 'token' : 'administrator')],
    ]);
    return group;
  }
}
