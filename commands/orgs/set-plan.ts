import { Args } from '@oclif/core';
import { PLANS } from '../../src/access/caller.ts';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { requiredArg } from '../../src/cli/flags.ts';

export default class OrgsSetPlan extends BaseCommand {
  static override description = 'Change the plan of an organization, and with it its quotas and request rates.';
  static override examples = [
    '<%= config.bin %> orgs set-plan acme enterprise',
    '<%= config.bin %> orgs set-plan org_01h8 free --json',
  ];
  static override args = {
    organization: requiredArg('name or id of the organization'),
    plan: Args.string({ description: 'new plan', required: true, options: PLANS, ignoreStdin: true }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsSetPlan);
    const { organization, plan } = args;
    const { before, ...now } = await this.call(flags, 'organizations.setPlan', { organization, plan });
    this.log(`${now.name} (${now.id}) has the plan ${now.plan} now; it had ${before}`);
    return now;
  }
}
