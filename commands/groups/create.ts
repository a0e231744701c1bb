import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { listFlag, listOf, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class GroupsCreate extends BaseCommand {
  static override setsUp = true;
  static override description =
    'Create a group. Its members may read the documents whose access policy names the group.';
  static override examples = [
    '<%= config.bin %> groups create legal --member ana@example.com --member ben@example.com',
    '<%= config.bin %> groups create board --claim 6f1c0e3a-2d51-4f3e-9a57-0c1c7a2f0b11 --json',
  ];
  static override args = { name: requiredArg('name of the group; it cannot be changed later') };
  static override flags = withVariables({
    org: orgFlag,
    member: listFlag(
      'email or id of a user, key:ID of a key without a user, or group:NAME; may be given several times',
    ),
    claim: Flags.string({
      description: 'value for members of the group in the groups claim of tokens (default: the name)',
    }),
    'display-name': Flags.string({ description: 'name to show to people (default: the name)' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(GroupsCreate);
    const group = await this.call(
      flags,
      'groups.create',
      {
        name: args.name,
        display_name: flags['display-name'],
        claim: flags.claim,
        members: listOf(flags.member),
      },
      { name: 'NAME', members: '--member' },
    );
    this.log(`created group ${group.name}, ${group.member_count === 1 ? '1 member' : `${group.member_count} members`}`);
    return group;
  }
}
