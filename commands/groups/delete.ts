import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class GroupsDelete extends BaseCommand {
  static override description =
    'Delete a group. Documents keep its name. If a document names nobody else, only administrators may read it afterwards.';
  static override examples = [
    '<%= config.bin %> groups delete legal',
    '<%= config.bin %> groups delete legal --org acme --yes --json',
  ];
  static override args = { group: requiredArg('name of the group') };
  static override flags = withVariables({ org: orgFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(GroupsDelete);
    return this.withSession(flags, async (session, signal) => {
      await confirm(`Members of ${args.group} lose the documents of the group. Delete it?`, flags.yes, signal);
      const group = await session.call('groups.remove', { group: args.group });
      this.log(`deleted group ${group.name}`);
      return group;
    });
  }
}
