import { BaseCommand } from '../../src/cli/base-command.ts';
import { confirm } from '../../src/cli/confirm.ts';
import { requiredArg, withVariables, yesFlag } from '../../src/cli/flags.ts';
import { keyFileFlag, placeFlag } from '../../src/cli/moves.ts';

export default class OrgsRelease extends BaseCommand {
  static override description =
    'Stop serving an exported organization, so that the installation that imported it can serve it.\n' +
    'From now on, requests with its keys get 503 here. First start "orgs import --activate" at the target; it waits ' +
    'for the release.';
  static override examples = [
    '<%= config.bin %> orgs release acme --to /srv/moves/acme --key-file /root/acme.key',
    '<%= config.bin %> orgs release acme --to s3://moves/acme/ --key-file acme.key --yes --json',
  ];
  static override args = { organization: requiredArg('name or id of the organization') };
  static override flags = withVariables({ to: placeFlag, 'key-file': keyFileFlag, yes: yesFlag });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsRelease);
    return this.withAppliance(
      flags,
      async (appliance, signal) => {
        const { moveContextOf, withPlace } = await import('../../src/cli/moves.ts');
        const { releaseOrganization } = await import('../../src/cells/release-organization.ts');
        await confirm(`Requests of ${args.organization} will be refused here. Release it?`, flags.yes, signal);
        const place = { 'key-file': flags['key-file'], creates: false };
        const report = await withPlace(appliance, place, signal, (options) =>
          releaseOrganization(moveContextOf(appliance), args.organization, options),
        );
        this.log(`released ${report.organization.name}: the installation that imported it may serve it`);
        return report;
      },
      { settings: { backup: { to: flags.to } } },
    );
  }
}
