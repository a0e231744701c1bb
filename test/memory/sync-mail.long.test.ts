import { expect, it } from 'vitest';
import { openTestAppliance } from '../support/appliance.ts';
import { dovecotAvailable, MAIL_PASSWORD, MAIL_USER, startDovecot } from '../support/dovecot.ts';
import { addSource, countIngestJobs, sync, syncWorker } from '../support/memory.ts';
import { mailOf } from './readers/places/mail-place.ts';

it.skipIf(!dovecotAvailable())(
  'a mailbox that is numbered anew keeps its documents, and nothing is embedded',
  async () => {
    const server = await startDovecot();
    const client = await server.openClient();
    const fill = async () => {
      await client.mailboxCreate('Letters');
      for (let nth = 0; nth < 20; nth++) await client.append('Letters', mailOf(`Letter ${nth}`, `Text ${nth}.`));
    };
    await fill();
    const place = { host: '127.0.0.1', port: server.port, security: 'none', user: MAIL_USER, password: MAIL_PASSWORD };
    const test = await openTestAppliance({ sources: { mail: { type: 'imap', ...place } } });
    const worker = syncWorker(test);
    await worker.start();
    const { id } = await addSource(test, { name: 'mail', connection: 'mail', config: { folders: ['Letters'] } });
    const documents = () => test.appliance.sql`SELECT id, file_name FROM documents WHERE source_id = ${id} ORDER BY id`;
    try {
      expect(await sync(test, id)).toMatchObject({ sync_state: 'idle', counts: { added: 20 } });
      const before = await documents();
      await client.mailboxDelete('Letters');
      await fill();
      expect(await sync(test, id)).toMatchObject({ counts: { added: 0, removed: 0, changed: 0, renamed: 20 } });
      expect(await documents()).toEqual(before);
      expect(await countIngestJobs(test.appliance.sql)).toBe(20);
    } finally {
      await worker.stop();
      await test.close();
      await client.logout();
      await server.drop();
    }
  },
);
