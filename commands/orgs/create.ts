import { Args, Flags } from '@oclif/core';
import { PLANS } from '../../src/access/caller.ts';
import { BaseCommand } from '../../src/cli/base-command.ts';

export default class OrgsCreate extends BaseCommand {
  static override description = 'Create an organization, with a bucket that is named "default".';
  static override examples = [
    '<%= config.bin %> orgs create acme --plan business',
    '<%= config.bin %> orgs create acme --plan free --json',
  ];
  static override args = {
    name: Args.string({ description: 'name of the organization', required: true, ignoreStdin: true }),
  };
  static override flags = {
    plan: Flags.option({
      options: PLANS,
      description: 'plan, which sets quotas and request rates',
      required: true,
      env: 'SERVICE_PLAN',
    })(),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsCreate);
    return this.withAppliance(flags, async (appliance) => {
      const { id, name, plan } = await appliance.access.createOrganization({ name: args.name, plan: flags.plan });
      this.log(`created organization ${name} (${id}), plan ${plan}`);
      return { id, name, plan };
    });
  }
}
