import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { requiredArg, withVariables } from '../../src/cli/flags.ts';
import { formatBytes } from '../../src/cli/table.ts';

export default class OrgsExport extends BaseCommand {
  static override description =
    'Export an organization to move it to another installation. Its searches keep working here.\n' +
    'When most files are stored, this installation refuses changes to the organization until "orgs release" or ' +
    '--cancel. Jobs in progress can finish first; the other jobs move. To continue an interrupted export, run the ' +
    'command again.';
  static override examples = [
    '<%= config.bin %> orgs export acme --to /srv/moves/acme --key-file /root/acme.key',
    '<%= config.bin %> orgs export acme --to s3://moves/acme/ --key-file acme.key --json',
    '<%= config.bin %> orgs export acme --cancel',
  ];
  static override args = { organization: requiredArg('name or id of the organization') };
  static override flags = withVariables({
    to: Flags.string({ description: 'folder or s3://bucket/prefix/ for this export only' }),
    'key-file': Flags.string({
      description:
        'file with the key that encrypts stored credentials in the export and signs it; made if it does not exist',
    }),
    wait: Flags.integer({
      description: 'seconds to wait for jobs in progress to finish',
      default: 60,
      min: 0,
      max: 86_400,
    }),
    cancel: Flags.boolean({
      description: 'end the export: changes are accepted here again, and the target can never serve it',
      exclusive: ['to', 'key-file'],
    }),
    force: Flags.boolean({
      description: 'cancel even after "orgs release"; first make sure that the target does not serve the organization',
      dependsOn: ['cancel'],
    }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(OrgsExport);
    if (flags.cancel) return this.#cancel(args.organization, flags);
    const { to, 'key-file': keyFile } = flags;
    if (to === undefined || keyFile === undefined) this.error('--to and --key-file are required');
    return this.withAppliance(
      flags,
      async (appliance, signal) => {
        const { moveContextOf, withPlace } = await import('../../src/cli/moves.ts');
        const { exportOrganization } = await import('../../src/cells/export-organization.ts');
        const place = { 'key-file': keyFile, creates: true };
        const report = await withPlace(appliance, place, signal, (options) =>
          exportOrganization(moveContextOf(appliance), args.organization, { ...options, waitMs: flags.wait * 1000 }),
        );
        const { organization, documents, chunks, files, bytes, rows } = report;
        this.log(
          `exported ${organization.name}: ${documents} documents with ${chunks} chunks, ${rows} rows, ${files} files (${formatBytes(bytes)})`,
        );
        if (report.missing_objects > 0) {
          this.logToStderr(`warning: ${report.missing_objects} files to which rows refer do not exist any more`);
        }
        this.log(
          `changes of ${organization.name} are refused here now; copy ${keyFile} to the target, and run "service orgs import ${report.place}" there`,
        );
        return report;
      },
      { settings: { backup: { to } } },
    );
  }

  async #cancel(organization: string, flags: { force: boolean; 'data-dir'?: string | undefined }): Promise<unknown> {
    return this.withAppliance(flags, async (appliance, signal) => {
      const { moveContextOf } = await import('../../src/cli/moves.ts');
      const { takeBack } = await import('../../src/cells/release-organization.ts');
      const { force } = flags;
      const actor = appliance.access.operatorActor;
      const { id, name } = await takeBack(moveContextOf(appliance), organization, { actor, signal, force });
      this.log(`${name} (${id}) is served here, and changes are accepted`);
      return { id, name };
    });
  }
}
