import { Args } from '@oclif/core';
import { ROLES } from '../../src/access/caller.ts';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { authLevelFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class UsersSetRole extends BaseCommand {
  static override description = 'Change the role of a user, and with it the auth level.';
  static override examples = [
    '<%= config.bin %> users set-role ana@example.com owner --org acme',
    '<%= config.bin %> users set-role ana@example.com member --auth-level 5 --json',
  ];
  static override args = {
    user: requiredArg('email or id of the user'),
    role: Args.string({ description: 'new role', required: true, options: ROLES, ignoreStdin: true }),
  };
  static override flags = withVariables({
    org: orgFlag,
    'auth-level': authLevelFlag('highest privacy level of documents that the user can see (default: that of the role)'),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(UsersSetRole);
    const request = { user: args.user, role: args.role, auth_level: flags['auth-level'] };
    const user = await this.call(flags, 'users.setRole', request);
    this.log(`${user.email} (${user.id}) is ${user.role} now, auth level ${user.auth_level}`);
    return user;
  }
}
