import { renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { GitRepository } from '../../../support/git-server.ts';
import type { SourcePlace } from './place.ts';

/** Open a repository whose files are the entries. Each change is a commit. */
export async function openGitPlace(start: () => Promise<GitRepository>): Promise<SourcePlace> {
  const repository = await start();
  const fileOf = (name: string) => path.join(repository.work, name);
  let isBatch = false;
  const commit = (at?: Date) => {
    if (!isBatch) repository.commit(at);
  };
  return {
    connection: { type: 'git', url: repository.url, ...repository.settings },
    config: {},
    async write(name, content, at) {
      writeFileSync(fileOf(name), content);
      commit(at);
    },
    async batch(changes) {
      isBatch = true;
      await changes();
      isBatch = false;
      commit();
    },
    async remove(name) {
      rmSync(fileOf(name));
      commit();
    },
    async rename(from, to) {
      renameSync(fileOf(from), fileOf(to));
      commit();
    },
    async vanish() {
      const restore = repository.hide();
      return async () => restore();
    },
    close: () => repository.close(),
  };
}
