import { migrate } from '../../src/platform/migrate.ts';
import { openPostgres } from '../../src/platform/postgres.ts';

// Tests start and kill this script: `migrate-child.ts <database url> <directory>`.
const [url = '', directory = ''] = process.argv.slice(2);
const sql = openPostgres({ url }, { poolMax: 1, applicationName: 'migrate-child' });
await migrate(sql, { directory });
await sql.end();
