import { Flags } from '@oclif/core';
import { PLANS } from '../../src/access/caller.ts';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { requiredArg, withVariables } from '../../src/cli/flags.ts';

export default class OrgsCreate extends BaseCommand {
  static override setsUp = true;
  static override description = 'Create an organization with a bucket named "default".';
  static override examples = [
    '<%= config.bin %> orgs create acme --plan business',
    '<%= config.bin %> orgs create acme --plan free --json',
  ];
  static override args = { name: requiredArg('name of the organization') };
  static override flags = withVariables({
    plan: Flags.option({ options: PLANS, description: 'plan, which sets quotas and request rates', required: true })(),
  });

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
