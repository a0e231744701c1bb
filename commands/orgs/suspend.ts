import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class OrgsSuspend extends BaseCommand {
  static override description =
    'Suspend an organization: within a second, all its keys and tokens are refused until you resume it. Data and jobs stay.';
  static override examples = [
    '<%= config.bin %> orgs suspend acme',
    '<%= config.bin %> orgs suspend acme --yes --json',
  ];
  static override args = { organization: requiredArg('name or id of the organization') };
  static override flags = withVariables({ yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsSuspend);
    return this.withSession(flags, async (session, signal) => {
      const { id } = await session.call('organizations.find', { organization: args.organization });
      await confirm(`All requests of ${args.organization} will be refused. Suspend it?`, flags.yes, signal);
      const organization = await session.call('organizations.suspend', { organization: id });
      this.log(`suspended ${organization.name} (${id})`);
      return organization;
    });
  }
}
