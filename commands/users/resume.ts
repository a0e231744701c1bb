import { BaseCommand } from '../../src/cli/base-command.ts';
import { orgFlag, requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class UsersResume extends BaseCommand {
  static override description =
    'End the suspension of a user: tokens and keys that are still valid are accepted again.';
  static override examples = [
    '<%= config.bin %> users resume ana@example.com',
    '<%= config.bin %> users resume ana@example.com --org acme --json',
  ];
  static override args = { user: requiredArg('email or id of the user') };
  static override flags = withVariables({ org: orgFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(UsersResume);
    const user = await this.call(flags, 'users.resume', { user: args.user });
    this.log(`${user.email} (${user.id}) is not suspended any more`);
    return user;
  }
}
