import { Args } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';

export default class OrgsResume extends BaseCommand {
  static override setsUp = false;
  static override description = 'End the suspension of an organization.';
  static override examples = ['<%= config.bin %> orgs resume acme', '<%= config.bin %> orgs resume acme --json'];
  static override args = {
    organization: Args.string({ description: 'name or id of the organization', required: true, ignoreStdin: true }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsResume);
    return this.withAppliance(flags, async ({ sql, access }) => {
      const { findOrganization, unsuspendOrganization } = await import('../../src/access/organizations.ts');
      const { id } = await findOrganization(sql, args.organization);
      const organization = await unsuspendOrganization(sql, access.operatorActor, id);
      this.log(`${organization.name} (${id}) is not suspended any more`);
      return organization;
    });
  }
}
