import { createSourceDatabase } from '../../../support/memory.ts';
import type { SourcePlace } from './place.ts';

/** Open a table of PostgreSQL whose rows are the entries. A column holds the time of a row. */
export async function openTablePlace(): Promise<SourcePlace> {
  const database = await createSourceDatabase();
  const { sql } = database;
  await sql`CREATE TABLE entries (name text PRIMARY KEY, body text, at timestamptz)`;
  return {
    connection: { type: 'postgres', url: database.url },
    config: { table: 'entries', text: '{{body}}', title: 'name', event_time: 'at' },
    async write(name, content, at) {
      await sql`
        INSERT INTO entries VALUES (${name}, ${content}, ${at ?? null})
        ON CONFLICT (name) DO UPDATE SET body = excluded.body, at = excluded.at`;
    },
    remove: async (name) => void (await sql`DELETE FROM entries WHERE name = ${name}`),
    rename: async (from, to) => void (await sql`UPDATE entries SET name = ${to} WHERE name = ${from}`),
    async vanish() {
      await sql`ALTER TABLE entries RENAME TO gone`;
      return async () => void (await sql`ALTER TABLE gone RENAME TO entries`);
    },
    close: () => database.drop(),
  };
}
