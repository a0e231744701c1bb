import { BaseCommand } from '../../src/cli/base-command.ts';

export default class DbMigrate extends BaseCommand {
  static override description =
    'Bring the schema of the database up to date.\n' +
    'The service does this on every start, and so do most commands; this command does nothing else.';
  static override examples = [
    '<%= config.bin %> db migrate',
    '<%= config.bin %> db migrate --data-dir /var/lib/service --json',
  ];

  async run(): Promise<unknown> {
    const { flags } = await this.parse(DbMigrate);
    return this.withDatabase(flags, async (sql) => {
      const { migrate } = await import('../../src/platform/migrate.ts');
      const { MIGRATIONS } = await import('../../src/appliance/stores.ts');
      const applied = await migrate(sql, { directory: MIGRATIONS });
      this.log(applied.length === 0 ? 'nothing to do: the schema is up to date' : `applied ${applied.join(', ')}`);
      return { applied };
    });
  }
}
