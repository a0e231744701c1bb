import { renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { GitRepository } from '../../../support/git-server.ts';
import type { SourcePlace } from './place.ts';

/** Open a repository whose files are the entries. Each change is a commit. */
export async function openGitPlace(start: () => Promise<GitRepository>): Promise<SourcePlace> {
  const repository = await start();
  const fileOf = (name: string) => path.join(repository.work, name);
  return {
    connection: { type: 'git', url: repository.url, ...repository.settings },
    config: {},
    async write(name, content, at) {
      writeFileSync(fileOf(name), content);
      repository.commit(at);
    },
    async remove(name) {
      rmSync(fileOf(name));
      repository.commit();
    },
    async rename(from, to) {
      renameSync(fileOf(from), fileOf(to));
      repository.commit();
    },
    async vanish() {
      const restore = repository.hide();
      return async () => restore();
    },
    close: () => repository.close(),
  };
}
