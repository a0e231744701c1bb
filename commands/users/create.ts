import { Flags } from '@oclif/core';
import { ROLES } from '../../src/access/caller.ts';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { authLevelFlag, orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class UsersCreate extends BaseCommand {
  static override setsUp = true;
  static override description = 'Add a user to an organization.';
  static override examples = [
    '<%= config.bin %> users create ana@example.com --org acme --role admin',
    '<%= config.bin %> users create ben@example.com --department sales --auth-level 4 --json',
    '<%= config.bin %> users create cho@example.com --oidc-subject 248289761001',
  ];
  static override args = { email: requiredArg('email address of the user') };
  static override flags = withVariables({
    org: orgFlag,
    role: Flags.option({
      options: ROLES,
      description: 'role, which decides what the user may do',
      default: 'member',
    })(),
    'auth-level': authLevelFlag('highest privacy level of documents that the user can see (default: that of the role)'),
    department: Flags.string({
      description: 'department of the user; documents limited to a department are found by its members',
    }),
    'oidc-subject': Flags.string({
      description: 'id of the user at the configured identity provider (claim sub); without it, invite the user',
    }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(UsersCreate);
    const request = {
      email: args.email,
      role: flags.role,
      auth_level: flags['auth-level'],
      department: flags.department,
      oidc_subject: flags['oidc-subject'],
    };
    const user = await this.call(flags, 'users.create', request, { email: 'EMAIL' });
    this.log(`created user ${user.email} (${user.id}), ${user.role}, auth level ${user.auth_level}`);
    return user;
  }
}
