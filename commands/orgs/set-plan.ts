import { Args } from '@oclif/core';
import { PLANS, type Plan } from '../../src/access/caller.ts';
import { BaseCommand } from '../../src/cli/base-command.ts';

export default class OrgsSetPlan extends BaseCommand {
  static override setsUp = false;
  static override description = 'Change the plan of an organization, and with it its quotas and request rates.';
  static override examples = [
    '<%= config.bin %> orgs set-plan acme enterprise',
    '<%= config.bin %> orgs set-plan org_01h8 free --json',
  ];
  static override args = {
    organization: Args.string({ description: 'name or id of the organization', required: true, ignoreStdin: true }),
    plan: Args.string({ description: 'new plan', required: true, options: PLANS, ignoreStdin: true }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsSetPlan);
    return this.withAppliance(flags, async ({ sql, access }) => {
      const { findOrganization, setPlan } = await import('../../src/access/organizations.ts');
      const before = await findOrganization(sql, args.organization);
      const { id, name, plan } = await setPlan(sql, access.operatorActor, before.id, args.plan as Plan);
      this.log(`${name} (${id}) has the plan ${plan} now; it had ${before.plan}`);
      return { id, name, plan };
    });
  }
}
