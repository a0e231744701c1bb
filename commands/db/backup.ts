import { Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { withVariables } from '../../src/cli/flags.ts';
import { formatBytes } from '../../src/cli/table.ts';

export default class DbBackup extends BaseCommand {
  static override description =
    'Back up all rows and files to a folder or a bucket, while the service keeps running.\n' +
    'Files that an earlier backup stored in the same place are not stored again. The backup does not contain the ' +
    'secret key or the settings; the command says where the key is. An interrupted backup cannot be restored; the ' +
    'next backup reuses the files that it stored.';
  static override examples = [
    '<%= config.bin %> db backup --to /srv/backups/service --dry-run',
    '<%= config.bin %> db backup --to s3://backups/service/ --json',
  ];
  static override flags = withVariables({
    to: Flags.string({ description: 'folder, or s3://bucket/prefix/ (default: backup.to of service.yaml)' }),
    'dry-run': Flags.boolean({ description: 'show the size of the backup, and write nothing' }),
  });

  async run(): Promise<unknown> {
    const { flags } = await this.parse(DbBackup);
    const settings = flags.to === undefined ? {} : { backup: { to: flags.to } };
    return this.withAppliance(
      flags,
      async ({ config, backup, logger, access }, signal) => {
        const { requireLocation, withTarget } = await import('../../src/cli/backups.ts');
        const location = requireLocation(config);
        if (flags['dry-run']) {
          const { planBackup } = await import('../../src/backup/make-backup.ts');
          const plan = await withTarget(config, location, { logger, mayBeMissing: true }, (target) =>
            planBackup(backup, target, signal),
          );
          this.log(
            `would store ${plan.rows} rows of ${plan.tables} tables and ${plan.files} files (${formatBytes(plan.bytes)}), of which ${plan.newFiles} are new (${formatBytes(plan.newBytes)})`,
          );
          const { newFiles: new_files, newBytes: new_bytes, ...rest } = plan;
          return { dry_run: true, ...rest, new_files, new_bytes };
        }
        const { makeBackup, withBackupLock } = await import('../../src/backup/make-backup.ts');
        const { withSteps, secretKeyNote } = await import('../../src/cli/backups.ts');
        const report = await withTarget(config, location, { logger, creates: true }, (target) =>
          withSteps((onProgress) =>
            withBackupLock(backup.direct, signal, (guarded) =>
              makeBackup(backup, target, {
                actor: access.operatorActor,
                trigger: 'command',
                signal: guarded,
                onProgress,
              }),
            ),
          ),
        );
        this.log(
          `backup ${report.id} in ${report.location}: ${report.rows} rows of ${report.tables} tables, ${report.files} files (${formatBytes(report.bytes)}), of which ${report.new_files} are new (${formatBytes(report.new_bytes)})`,
        );
        if (report.missing_files > 0) {
          this.logToStderr(`warning: ${report.missing_files} files to which rows refer do not exist any more`);
        }
        this.log(secretKeyNote(config));
        return { ...report, secret_key: secretKeyNote(config) };
      },
      { settings },
    );
  }
}
