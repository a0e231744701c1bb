import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../../src/cli/base-command.ts';
import { withVariables, yesFlag } from '../../src/cli/flags.ts';
import { formatBytes } from '../../src/cli/table.ts';

export default class DbRestore extends BaseCommand {
  static override description =
    'Restore a backup into this installation, and build its search indexes from the stored chunks; no provider is called.\n' +
    'First stop the service, and put the secret key of the original installation in place. The installation must be ' +
    'empty, unless you give --force. The command verifies the whole backup before it writes anything. To continue an ' +
    'interrupted restore, run the command again.';
  static override examples = [
    '<%= config.bin %> db restore /srv/backups/service',
    '<%= config.bin %> db restore s3://backups/service/ --backup bak_01k9zq3v7x --force --yes --json',
  ];
  static override args = {
    from: Args.string({ description: 'folder of the backups, or s3://bucket/prefix/', required: true }),
  };
  static override flags = withVariables({
    backup: Flags.string({ description: 'id of the backup (default: the newest)' }),
    force: Flags.boolean({ description: 'replace everything that the installation holds' }),
    'accept-unsigned': Flags.boolean({
      description: 'restore a backup without a signature, from an earlier release',
    }),
    yes: yesFlag,
  });

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(DbRestore);
    const config = await this.loadSettings(flags, { backup: { to: args.from } });
    const logger = await this.openCommandLogger(config);
    const { confirm } = await import('../../src/cli/confirm.ts');
    const { requireLocation, withSteps } = await import('../../src/cli/backups.ts');
    const { restoreInstallation } = await import('../../src/appliance/restore-installation.ts');
    const { operatorActor } = await import('../../src/access/operator.ts');
    const { osUserName } = await import('../../src/platform/os-user.ts');
    const report = await this.untilDone(async (signal) => {
      if (flags.force) {
        const place = config.databaseUrl === null ? config.dataDir : 'the database at DATABASE_URL';
        await confirm(`Replace everything in ${place} by the backup?`, flags.yes, signal);
      }
      return withSteps((onProgress) =>
        restoreInstallation(config, {
          location: requireLocation(config),
          backup: flags.backup ?? null,
          force: flags.force,
          acceptsUnsigned: flags['accept-unsigned'],
          actor: operatorActor(osUserName()),
          logger,
          signal,
          onProgress,
        }),
      );
    });
    const { index } = report;
    this.log(
      `restored backup ${report.id} of ${report.created_at}: ${numberOf(report.rows, 'row')} of ${numberOf(report.tables, 'table')}, ${numberOf(report.files, 'file')} (${formatBytes(report.bytes)})`,
    );
    this.log(`built the indexes of ${numberOf(index.buckets, 'bucket')} with ${numberOf(index.chunks, 'chunk')}`);
    for (const id of index.left_out) {
      this.logToStderr(`warning: the stored chunks of the document ${id} are missing or damaged; reprocess its job`);
    }
    this.log('API keys and tokens are those of the installation that was backed up; start the service again');
    return report;
  }
}

function numberOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
