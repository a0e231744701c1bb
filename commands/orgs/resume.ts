import { BaseCommand } from '../../src/cli/base-command.ts';
import { requiredArg } from '../../src/cli/flags.ts';

export default class OrgsResume extends BaseCommand {
  static override description = 'End the suspension of an organization.';
  static override examples = ['<%= config.bin %> orgs resume acme', '<%= config.bin %> orgs resume acme --json'];
  static override args = { organization: requiredArg('name or id of the organization') };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsResume);
    const organization = await this.call(flags, 'organizations.resume', { organization: args.organization });
    this.log(`${organization.name} (${organization.id}) is not suspended any more`);
    return organization;
  }
}
