import { MAIL_PASSWORD, MAIL_USER, startDovecot } from '../../../support/dovecot.ts';
import type { SourcePlace } from './place.ts';

/** Write a mail of RFC 5322 whose bytes depend on its subject and text alone. */
export function mailOf(subject: string, text: string, headers: readonly string[] = []): Buffer {
  return Buffer.from(
    [
      `Subject: =?utf-8?B?${Buffer.from(subject).toString('base64')}?=`,
      'From: Kittiwake <kittiwake@example.org>',
      'To: keeper@example.org',
      ...headers,
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      text.replaceAll('\n', '\r\n'),
      '',
    ].join('\r\n'),
  );
}

/**
 * Open a mailbox whose messages are the entries, named by their subjects. Messages are immutable, so that writing to an
 * existing name adds a message and deletes the old one. A renamed entry is moved to another folder.
 */
export async function openMailPlace(): Promise<SourcePlace> {
  const server = await startDovecot();
  const client = await server.openClient();
  await client.mailboxCreate('Entries');
  await client.mailboxCreate('Moved');
  const places = new Map<string, { folder: string; uid: number }>();
  const placeOf = (name: string) => {
    const place = places.get(name);
    if (place === undefined) throw new Error(`there is no message ${name}`);
    return place;
  };
  const remove = async (name: string) => {
    const { folder, uid } = placeOf(name);
    await client.mailboxOpen(folder);
    await client.messageDelete(String(uid), { uid: true });
    places.delete(name);
  };
  return {
    connection: {
      ...{ type: 'imap', host: '127.0.0.1', port: server.port, security: 'none' },
      ...{ user: MAIL_USER, password: MAIL_PASSWORD },
    },
    config: { folders: ['Entries', 'Moved'] },
    isImmutable: true,
    async write(name, content, at) {
      const appended = await client.append('Entries', mailOf(name, content), [], at);
      if (places.has(name)) await remove(name);
      if (appended === false || appended.uid === undefined) throw new Error('the message was not added');
      places.set(name, { folder: 'Entries', uid: appended.uid });
    },
    remove,
    async rename(from, to) {
      const { folder, uid } = placeOf(from);
      await client.mailboxOpen(folder);
      const moved = await client.messageMove(String(uid), 'Moved', { uid: true });
      const movedUid = moved === false ? undefined : moved.uidMap?.get(uid);
      if (movedUid === undefined) throw new Error('the message was not moved');
      places.delete(from);
      places.set(to, { folder: 'Moved', uid: movedUid });
    },
    async vanish() {
      await client.mailboxClose();
      await client.mailboxRename('Entries', 'Away');
      return async () => void (await client.mailboxRename('Away', 'Entries'));
    },
    async close() {
      await client.logout();
      await server.drop();
    },
  };
}
