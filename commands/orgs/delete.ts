import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';

export default class OrgsDelete extends BaseCommand {
  static override description =
    'Delete the rows, files and indexes of an organization that has moved to another installation, or whose import is not finished.';
  static override examples = ['<%= config.bin %> orgs delete acme', '<%= config.bin %> orgs delete acme --yes --json'];
  static override args = { organization: requiredArg('name or id of the organization') };
  static override flags = withVariables({ yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsDelete);
    return this.withAppliance(flags, async (appliance, signal) => {
      const { moveContextOf } = await import('../../src/cli/moves.ts');
      const { deleteOrganization } = await import('../../src/cells/delete-organization.ts');
      await confirm(`Everything of ${args.organization} will be deleted here. Delete it?`, flags.yes, signal);
      const context = { ...moveContextOf(appliance), index: appliance.search.index };
      const actor = appliance.access.operatorActor;
      const deleted = await deleteOrganization(context, args.organization, { actor, signal });
      this.log(`deleted ${deleted.name} (${deleted.id}): ${deleted.rows} rows, its files and its indexes`);
      return deleted;
    });
  }
}
