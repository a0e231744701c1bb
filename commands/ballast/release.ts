import { BaseCommand } from '../../src/cli/base-command.ts';
import { formatBytes } from '../../src/cli/table.ts';

export default class BallastRelease extends BaseCommand {
  static override description =
    'Delete the ballast file of the data directory, so that the service can work again on a full disk.\n' +
    'A running server does this automatically, and creates the file again when there is space. Needs no database.';
  static override examples = [
    '<%= config.bin %> ballast release',
    '<%= config.bin %> ballast release --data-dir /var/lib/service --json',
  ];

  async run(): Promise<unknown> {
    const { flags } = await this.parse(BallastRelease);
    const { dataDir } = await this.loadSettings(flags);
    const { releaseBallast } = await import('../../src/platform/ballast.ts');
    const freed_bytes = await releaseBallast(dataDir);
    this.log(
      freed_bytes === null
        ? `there is no ballast file in ${dataDir}; delete backups, old files or documents to free space`
        : `freed ${formatBytes(freed_bytes)} in ${dataDir}; now free more space, or the disk is soon full again`,
    );
    return { freed_bytes };
  }
}
