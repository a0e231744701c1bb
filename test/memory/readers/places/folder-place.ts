import { renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../../support/memory.ts';
import type { SourcePlace } from './place.ts';

/** Time of files that a synchronisation takes to be settled. */
const LONG_AGO = new Date('2024-03-01T12:00:00Z');

export async function openFolderPlace(): Promise<SourcePlace> {
  const { folder, remove } = makeFolder();
  const fileOf = (name: string) => path.join(folder, name);
  let writes = 0;
  return {
    connection: { type: 'folder', root: folder },
    config: {},
    async write(name, content, at) {
      writeFileSync(fileOf(name), content);
      // Each write has a time of its own, as on a real host.
      writes++;
      const time = at ?? new Date(LONG_AGO.getTime() + writes * 1_000);
      utimesSync(fileOf(name), time, time);
    },
    remove: async (name) => rmSync(fileOf(name)),
    rename: async (from, to) => renameSync(fileOf(from), fileOf(to)),
    async vanish() {
      renameSync(folder, `${folder}-away`);
      return async () => renameSync(`${folder}-away`, folder);
    },
    async deny(name) {
      // Root may read every file, so that a link to itself stands for one that nobody can read.
      rmSync(fileOf(name));
      symlinkSync(fileOf(name), fileOf(name));
    },
    close: async () => remove(),
  };
}
