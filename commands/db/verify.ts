import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { withVariables } from '../../src/cli/flags.ts';
import { formatBytes } from '../../src/cli/table.ts';

export default class DbVerify extends BaseCommand {
  static override description =
    'Check every byte of a backup, and that no file is missing, without restoring it. Needs no installation; checks the signature only if the secret key is available.\n' +
    'If the backup is damaged, the command says what is wrong and exits with 4.';
  static override examples = [
    '<%= config.bin %> db verify /srv/backups/service',
    '<%= config.bin %> db verify s3://backups/service/ --backup bak_01k9zq3v7x --json',
  ];
  static override args = {
    from: Args.string({ description: 'folder of the backups, or s3://bucket/prefix/', required: true }),
  };
  static override flags = withVariables({
    backup: Flags.string({ description: 'id of the backup (default: the newest)' }),
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DbVerify);
    const config = await this.loadSettings(flags, { backup: { to: args.from } });
    const logger = await this.openCommandLogger(config);
    const { requireLocation, withSteps, withTarget } = await import('../../src/cli/backups.ts');
    const { findBackup } = await import('../../src/backup/layout.ts');
    const { verifyBackup } = await import('../../src/backup/verify-backup.ts');
    const { checkSignature } = await import('../../src/appliance/check-signature.ts');
    const report = await this.untilDone((signal) =>
      withTarget(config, requireLocation(config), { logger }, (target) =>
        withSteps(async (onProgress) => {
          const id = await findBackup(target, flags.backup ?? null);
          const verified = await verifyBackup(target, id, { signal, onProgress });
          return { ...verified.report, signature_checked: await checkSignature(config, target, verified.manifest) };
        }),
      ),
    );
    this.log(
      `backup ${report.id} of ${report.created_at} is complete: ${report.rows} rows of ${report.tables} tables, ${report.files} files (${formatBytes(report.bytes)}), schema ${report.schema_version}, release ${report.service_version}`,
    );
    if (!report.signature_checked) {
      this.logToStderr('note: the signature was not checked, since the secret key of the installation is not here');
    }
    if (report.missing_files > 0) {
      this.logToStderr(`warning: ${report.missing_files} files were missing already when the backup was made`);
    }
    return report;
  }
}
