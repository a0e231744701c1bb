import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { listFlag, listOf, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

const MEMBER = 'email or id of a user, key:ID of a key without a user, or group:NAME; may be given several times';

export default class GroupsEdit extends BaseCommand {
  static override description =
    'Add members to a group and remove members from it. Searches apply the change within a second.';
  static override examples = [
    '<%= config.bin %> groups edit legal --add cho@example.com --remove ben@example.com',
    '<%= config.bin %> groups edit legal --add group:board --json',
  ];
  static override args = { group: requiredArg('name of the group') };
  static override flags = withVariables({
    org: orgFlag,
    add: listFlag(`member to add: ${MEMBER}`),
    remove: listFlag(`member to remove: ${MEMBER}`),
    claim: Flags.string({ description: 'value for members of the group in the groups claim of tokens' }),
    'display-name': Flags.string({ description: 'name to show to people' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(GroupsEdit);
    const changes = {
      group: args.group,
      add: listOf(flags.add),
      remove: listOf(flags.remove),
      claim: flags.claim,
      display_name: flags['display-name'],
    };
    const group = await this.call(flags, 'groups.edit', changes, { members: '--add', remove: '--remove' });
    this.log(`group ${group.name} has ${group.member_count === 1 ? '1 member' : `${group.member_count} members`} now`);
    return group;
  }
}
