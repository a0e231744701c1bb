import { createHash } from 'node:crypto';
import type { FetchMessageObject, MessageAddressObject } from 'imapflow';
import { boundedLine, fileNameOf } from '../../../platform/printable.ts';
import type { ReadEntry } from '../source-reader.ts';

const SUBJECT_CHARS_MAX = 200;
const PEOPLE_CHARS_MAX = 200;
const ID_CHARS_MAX = 200;

/** Location of a message: folder, UIDVALIDITY and UID. */
export interface MailKey {
  readonly folder: string;
  readonly uidValidity: string;
  readonly uid: number;
}

/**
 * Build the key of a message from folder, UIDVALIDITY and UID, which permanently identify its content (RFC 9051,
 * section 2.3.1.1). Moving or renumbering a message changes its key but not its content, so its document stays.
 */
export function keyOf({ folder, uidValidity, uid }: MailKey): string {
  return `${folder}/${uidValidity}-${uid}.eml`;
}

/** Parse a key built by `keyOf`. */
export function parseKey(key: string): MailKey {
  const at = key.lastIndexOf('/');
  const [uidValidity = '', uid = ''] = key.slice(at + 1, -'.eml'.length).split('-');
  return { folder: key.slice(0, at), uidValidity, uid: Number(uid) };
}

/** Describe a message's document, without its content. */
export function describeMail(key: string, version: string, message: FetchMessageObject): Omit<ReadEntry, 'content'> {
  const { envelope = {}, headers, internalDate } = message;
  const subject = boundedLine(envelope.subject ?? '', SUBJECT_CHARS_MAX);
  const fileName = `${fileNameOf(subject === '' ? 'No subject' : subject)}.eml`;
  const date = timeOf(envelope.date) ?? timeOf(internalDate);
  const thread = threadOf(headers?.toString('latin1') ?? '', envelope.inReplyTo ?? '', envelope.messageId ?? '');
  const metadata: Record<string, string | null> = {
    subject,
    from: people(envelope.from),
    to: people(envelope.to),
    date: date === null ? null : new Date(date).toISOString(),
    message_id: firstId(envelope.messageId ?? ''),
    thread_id: thread,
    mail_folder: boundedLine(parseKey(key).folder, SUBJECT_CHARS_MAX),
  };
  const given = Object.entries(metadata).filter((each): each is [string, string] => each[1] !== null && each[1] !== '');
  return {
    key,
    version,
    fileName,
    contentType: 'message/rfc822',
    sourcePath: `${boundedLine(parseKey(key).folder, 800).normalize('NFC')}/${fileName}`,
    metadata: { source_kind: 'imap', ...Object.fromEntries(given) },
    eventTimeMs: date,
  };
}

/**
 * Return the id of the first message of a conversation: the first in `References`, else that in `In-Reply-To`, else the
 * message's own id (RFC 5322, section 3.6.4).
 */
function threadOf(headers: string, inReplyTo: string, messageId: string): string | null {
  const unfolded = headers.replace(/\r?\n[ \t]+/g, ' ');
  const references = /^references:(.*)$/im.exec(unfolded)?.[1] ?? '';
  return firstId(references) ?? firstId(inReplyTo) ?? firstId(messageId);
}

/** Return the first message id in a header without its brackets, hashed if it is too long for metadata. */
function firstId(header: string): string | null {
  const id = /<([^<>\s]+)>/.exec(header)?.[1];
  if (id === undefined) return null;
  return id.length <= ID_CHARS_MAX ? boundedLine(id, ID_CHARS_MAX) : createHash('sha256').update(id).digest('hex');
}

function people(addresses: readonly MessageAddressObject[] = []): string {
  const texts = addresses.map(({ name, address }) => {
    if (!address) return name ?? '';
    return name ? `${name} <${address}>` : address;
  });
  return boundedLine(texts.filter((text) => text !== '').join(', '), PEOPLE_CHARS_MAX);
}

function timeOf(date: Date | string | undefined): number | null {
  if (date === undefined) return null;
  const time = new Date(date).getTime();
  return Number.isNaN(time) ? null : time;
}
