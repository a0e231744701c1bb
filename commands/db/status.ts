import { BaseCommand } from '../../src/cli/base-command.ts';

export default class DbStatus extends BaseCommand {
  static override description = 'Show the applied and the pending migrations of the database schema. Changes nothing.';
  static override examples = [
    '<%= config.bin %> db status',
    '<%= config.bin %> db status --data-dir /var/lib/service --json',
  ];

  async run(): Promise<unknown> {
    const { flags } = await this.parse(DbStatus);
    return this.withDatabase(flags, async (sql) => {
      const { migrationStatus } = await import('../../src/platform/migrate.ts');
      const { describeServer } = await import('../../src/platform/postgres/server.ts');
      const { MIGRATIONS } = await import('../../src/appliance/stores.ts');
      const migrations = await migrationStatus(sql, { directory: MIGRATIONS });
      const pending = migrations.filter((migration) => migration.applied_at === null).length;
      const { version: server_version } = await describeServer(sql);
      await this.showTable('migrations', migrations, [
        ['version', (migration) => migration.version],
        ['name', (migration) => migration.name],
        ['applied', (migration) => migration.applied_at?.toISOString() ?? 'pending'],
      ]);
      this.logToStderr(
        `PostgreSQL ${server_version}, ${pending === 0 ? 'up to date' : `${pending} migrations are pending; run "service db migrate"`}`,
      );
      return { server_version, pending, migrations };
    });
  }
}
