import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { requiredArg, withVariables } from '../../src/cli/flags.ts';
import { keyFileFlag } from '../../src/cli/moves.ts';
import { formatBytes } from '../../src/cli/table.ts';

export default class OrgsImport extends BaseCommand {
  static override needsProviders = true;
  static override description =
    'Import an organization that another installation has exported, and build its search indexes from the stored vectors; no model is called.\n' +
    'The command verifies the whole export before it writes anything. To serve the organization, give --activate, ' +
    'which waits for "orgs release" at the source. To continue an interrupted import, run the command again.';
  static override examples = [
    '<%= config.bin %> orgs import /srv/moves/acme --key-file /root/acme.key --check',
    '<%= config.bin %> orgs import /srv/moves/acme --key-file /root/acme.key --activate --json',
  ];
  static override args = { from: requiredArg('folder of the export, or s3://bucket/prefix/') };
  static override flags = withVariables({
    'key-file': keyFileFlag,
    name: Flags.string({ description: 'name of the organization here (default: its own)' }),
    check: Flags.boolean({ description: 'verify the export and this installation, and write nothing' }),
    activate: Flags.boolean({ description: 'serve the organization as soon as the source has released it' }),
    wait: Flags.integer({ description: 'seconds to wait for the release', default: 600, min: 0, max: 86_400 }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsImport);
    return this.withAppliance(
      flags,
      async (appliance, signal) => {
        const { importContextOf, withPlace } = await import('../../src/cli/moves.ts');
        const { checkImport, importOrganization } = await import('../../src/cells/import-organization.ts');
        const context = importContextOf(appliance);
        const place = { 'key-file': flags['key-file'], creates: false };
        const report = await withPlace(appliance, place, signal, (options) => {
          const own = { ...options, name: flags.name ?? null };
          return flags.check ? checkImport(context, own) : importOrganization(context, own);
        });
        const { organization, documents, chunks, files, bytes } = report;
        const what = `${organization.name}: ${documents} documents with ${chunks} chunks, ${files} files (${formatBytes(bytes)})`;
        if (flags.check) {
          this.log(`the export is complete, and this installation can import ${what}`);
          return { check: true, ...report };
        }
        this.log(`imported ${what}`);
        for (const id of report.left_out) {
          this.logToStderr(
            `warning: the stored chunks of the document ${id} are missing or damaged; reprocess its job`,
          );
        }
        if (report.people_with_passwords > 0) {
          this.logToStderr(
            `note: ${report.people_with_passwords} people signed in with a password of the source; invite them here ("service users invite")`,
          );
        }
        if (!flags.activate) {
          this.log('it is not served here yet; run the command again with --activate, and release it at the source');
          return report;
        }
        this.logToStderr(`waiting for "service orgs release ${organization.name}" at the source`);
        const { activateOrganization } = await import('../../src/cells/activate-organization.ts');
        const activation = await withPlace(appliance, place, signal, (options) =>
          activateOrganization(context, { ...options, waitMs: flags.wait * 1000 }),
        );
        this.log(`${organization.name} is served here now`);
        return { ...report, activation };
      },
      { settings: { backup: { to: args.from } } },
    );
  }
}
