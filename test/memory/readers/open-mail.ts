import { onTestFinished } from 'vitest';
import { type ImapReaderOptions, openImapReader } from '../../../src/memory/readers/imap/imap-reader.ts';
import type { ListedEntry, ReadEntry, SourceReader } from '../../../src/memory/readers/source-reader.ts';
import { type ImapSettings, imapSettingsOf } from '../../../src/platform/imap-settings.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { TEST_CA } from '../../support/certificates.ts';
import { MAIL_PASSWORD, MAIL_USER } from '../../support/dovecot.ts';

export const NEVER = new AbortController().signal;

/** Open a reader of a server on this host. The test closes it at its end. */
export function openMail(settings: Partial<ImapSettings>, options: Partial<ImapReaderOptions> = {}): SourceReader {
  const imap = {
    ...imapSettingsOf({
      host: 'localhost',
      security: 'tls',
      user: MAIL_USER,
      password: new Secret(MAIL_PASSWORD),
    }),
    ca: TEST_CA,
    ...settings,
  };
  const reader = openImapReader({
    ...{ imap, folders: ['INBOX'], attachments: true, bytesMax: 50_000_000 },
    ...options,
  });
  onTestFinished(() => reader.close());
  return reader;
}

/** List all entries. @throws Error if the listing has a fault of an entry */
export async function listAll(reader: SourceReader, signal = NEVER): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = [];
  for await (const listing of reader.list(signal)) {
    if (listing.faults.length > 0) throw new Error(listing.faults[0]?.fault);
    entries.push(...listing.entries);
  }
  return entries;
}

/** Read all entries that a listing shows, with their contents as text. */
export async function readAll(
  reader: SourceReader,
): Promise<(Omit<ReadEntry, 'content'> & { readonly text: string })[]> {
  const read = await reader.read(await listAll(reader), NEVER);
  const texts: (Omit<ReadEntry, 'content'> & { text: string })[] = [];
  for (const entry of read) {
    if ('fault' in entry) throw new Error(entry.fault);
    const { content, ...about } = entry;
    if (content === null) continue;
    const parts: Uint8Array[] = [];
    if ('bytes' in content) parts.push(content.bytes);
    else for await (const part of content.openStream()) parts.push(part as Buffer);
    texts.push({ ...about, text: Buffer.concat(parts).toString('utf8') });
  }
  return texts;
}
