import { startMariaDb } from '../../../support/mariadb.ts';
import type { SourcePlace } from './place.ts';

/** Open a table of MariaDB whose rows are the entries. */
export async function openMysqlPlace(): Promise<SourcePlace> {
  const { admin, url, stop } = await startMariaDb();
  await admin.query('CREATE TABLE entries (name varchar(200) PRIMARY KEY, body longtext, at datetime)');
  return {
    connection: { type: 'mysql', url },
    config: { table: 'entries', text: '{{body}}', title: 'name', event_time: 'at' },
    async write(name, content, at) {
      const time = at === undefined ? null : at.toISOString().slice(0, 19).replace('T', ' ');
      await admin.execute('REPLACE INTO entries VALUES (?, ?, ?)', [name, content, time]);
    },
    remove: async (name) => void (await admin.execute('DELETE FROM entries WHERE name = ?', [name])),
    rename: async (from, to) => void (await admin.execute('UPDATE entries SET name = ? WHERE name = ?', [to, from])),
    async vanish() {
      await admin.query('RENAME TABLE entries TO gone');
      return async () => void (await admin.query('RENAME TABLE gone TO entries'));
    },
    close: stop,
  };
}
