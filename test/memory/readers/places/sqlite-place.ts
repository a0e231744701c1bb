import { renameSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../../../support/memory.ts';
import type { SourcePlace } from './place.ts';

/** Open a table of SQLite whose rows are the entries. */
export async function openSqlitePlace(): Promise<SourcePlace> {
  const { folder, remove } = makeFolder();
  const file = path.join(folder, 'entries.db');
  const database = new DatabaseSync(file);
  database.exec('CREATE TABLE entries (name TEXT PRIMARY KEY, body TEXT, at TEXT)');
  return {
    connection: { type: 'sqlite', file },
    config: { table: 'entries', text: '{{body}}', title: 'name', event_time: 'at' },
    async write(name, content, at) {
      database.prepare('INSERT OR REPLACE INTO entries VALUES (?, ?, ?)').run(name, content, at?.toISOString() ?? null);
    },
    remove: async (name) => void database.prepare('DELETE FROM entries WHERE name = ?').run(name),
    rename: async (from, to) => void database.prepare('UPDATE entries SET name = ? WHERE name = ?').run(to, from),
    async vanish() {
      renameSync(file, `${file}-away`);
      return async () => renameSync(`${file}-away`, file);
    },
    async close() {
      database.close();
      remove();
    },
  };
}
