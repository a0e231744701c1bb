import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Sql } from '../platform/postgres.ts';
import { selectExistingSources } from './source-store.ts';

/** Return this host's folder for copies of repositories, each named by its source id. */
export function copiesFolder(dataDir: string): string {
  return path.join(dataDir, 'git');
}

/** Remove this host's copies of repositories whose source was deleted. */
export async function removeDeletedCopies(sql: Sql, dataDir: string): Promise<void> {
  const folder = copiesFolder(dataDir);
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith('src_'));
  if (names.length === 0) return;
  const existing = await selectExistingSources(sql, names);
  for (const name of names) {
    if (!existing.has(name)) await rm(path.join(folder, name), { recursive: true, force: true });
  }
}
