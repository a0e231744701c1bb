import { renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startDavProxy } from '../../../support/dav-proxy.ts';
import { DAV_PASSWORD, DAV_USER, startWebdav } from '../../../support/wsgidav.ts';
import type { SourcePlace } from './place.ts';

/** Time of files that a synchronisation takes to be settled. */
const LONG_AGO = new Date('2024-03-01T12:00:00Z');

/** Open a WebDAV server whose files are the entries. The test writes them to the folder that the server shows. */
export async function openWebdavPlace(): Promise<SourcePlace> {
  const server = await startWebdav();
  const proxy = await startDavProxy(server.url);
  const fileOf = (name: string) => path.join(server.folder, name);
  let writes = 0;
  return {
    connection: { type: 'webdav', url: proxy.url, user: DAV_USER, password: DAV_PASSWORD },
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
      renameSync(server.folder, `${server.folder}-away`);
      return async () => renameSync(`${server.folder}-away`, server.folder);
    },
    async deny(name) {
      // The server runs as root, who may read every file, so that a proxy refuses this one. Its change makes it unread.
      writeFileSync(fileOf(name), 'A text that nobody may read.');
      proxy.answers.set(`/shared files/${name}`, (_request, response) => response.writeHead(403).end());
    },
    async close() {
      await proxy.close();
      await server.drop();
    },
  };
}
