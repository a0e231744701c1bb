import { Args, Flags } from '@oclif/core';
import { PLANS } from '../../src/access/caller.ts';
import { BaseCommand } from '../../src/cli/base-command.ts';

export default class OrgsCreate extends BaseCommand {
  static override description = 'Create an organization with a bucket named "default".';
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
    const organization = await this.call(
      flags,
      'organizations.create',
      { name: args.name, plan: flags.plan },
      { name: 'NAME' },
    );
    const { id, name, plan } = organization;
    this.log(`created organization ${name} (${id}), plan ${plan}`);
    return organization;
  }
}
