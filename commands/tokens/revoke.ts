import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { orgFlag, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { invalidRequest } from '../../src/platform/errors.ts';

export default class TokensRevoke extends BaseCommand {
  static override description =
    'Revoke one token by its id, the access of a client that "tokens list" shows, or all tokens of a user. They are ' +
    'refused within a second. Keys are not affected.\n' +
    'Check the id: the service keeps no list of user tokens, so it accepts an id that no token has.';
  static override examples = [
    '<%= config.bin %> tokens revoke tok_01h8xk3v9e7m2q4r6s8t0v1w2x',
    '<%= config.bin %> tokens revoke grant_01h8xk3v9e7m2q4r6s8t0v1w2x',
    '<%= config.bin %> tokens revoke --user ana@example.com --yes --json',
  ];
  static override args = {
    id: Args.string({
      description: 'id of the token, as "tokens create" prints it, or of the access of a client',
      ignoreStdin: true,
    }),
  };
  static override flags = withVariables({
    org: orgFlag,
    user: Flags.string({ description: 'email or id of a user, to revoke all their tokens' }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(TokensRevoke);
    const { id } = args;
    const { user } = flags;
    const isGrant = id?.startsWith('grant_') === true;
    if ((id === undefined) === (user === undefined)) {
      throw invalidRequest('give either the id of a token, or --user for all tokens of a user', 'id');
    }
    return this.withSession(flags, async (session, signal) => {
      const what = id === undefined ? `all tokens of ${user}` : `${isGrant ? 'the access' : 'the token'} ${id}`;
      await confirm(`Requests with ${what} will be refused. Revoke?`, flags.yes, signal);
      const revoked = await session.call('keys.revokeToken', { id, user });
      this.log(id === undefined || isGrant ? `revoked ${what}` : describeRevoked(id));
      return revoked;
    });
  }
}

/** Describe the effect without claiming that the token exists, which the service cannot know. */
function describeRevoked(id: string): string {
  return `tokens with the id ${id} are refused from now on; the service keeps no list of tokens, so check the id`;
}
