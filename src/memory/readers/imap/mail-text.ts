import type { FetchMessageObject, ImapFlow, MessageStructureObject } from 'imapflow';
import {
  type EntryFault,
  INLINE_BYTES_MAX,
  type ListedEntry,
  type ReadEntry,
  tooLargeFault,
} from '../source-reader.ts';
import { describeMail, parseKey } from './mail-entry.ts';

/** Headers that describe the parts of a message, including continuation lines (RFC 2045). */
const MIME_HEADERS = /^(?:content-[\w-]+|mime-version):.*\r?\n(?:[ \t].*\r?\n)*/gim;

/**
 * Read a message without its attachments: its headers, and the part with its text (HTML if there is one).
 *
 * @returns RFC 5322 message with this part as its only one
 */
export async function readText(
  client: ImapFlow,
  { key, version }: ListedEntry,
  message: FetchMessageObject,
): Promise<ReadEntry | EntryFault> {
  const about = describeMail(key, version, message);
  const parts = message.bodyStructure === undefined ? [] : textParts(message.bodyStructure);
  const chosen = parts.find(({ type }) => type === 'text/html') ?? parts[0];
  const tooLarge = tooLargeFault(key, chosen?.size ?? 0, INLINE_BYTES_MAX);
  if (tooLarge !== null) return { key, fault: `the text of "${about.fileName}": ${tooLarge.fault}` };
  // In a message without parts, the only part is TEXT, and the message headers describe it.
  const section = chosen === undefined ? null : (chosen.part ?? 'TEXT');
  const isWhole = section === 'TEXT';
  const names = section === null ? [] : isWhole ? [section] : [`${section}.MIME`, section];
  const fetched = await client.fetchOne(
    String(parseKey(key).uid),
    { headers: true, bodyParts: names.map((name) => ({ key: name, start: 0, maxLength: INLINE_BYTES_MAX })) },
    { uid: true },
  );
  if (fetched === false) return { key, fault: 'it was removed while it was read' };
  const { headers = Buffer.alloc(0), bodyParts } = fetched;
  const body = names.map((name) => bodyParts?.get(name.toLowerCase()) ?? Buffer.alloc(0));
  const head = isWhole ? headers : Buffer.from(withoutMime(headers.toString('latin1'), section !== null), 'latin1');
  return { ...about, content: { bytes: Buffer.concat([head, ...body]) } };
}

/** Remove MIME headers. @param isContinued true if a part's headers follow, so that no empty line ends these */
function withoutMime(headers: string, isContinued: boolean): string {
  const rest = headers.replace(MIME_HEADERS, '').replace(/\r?\n$/, '');
  return isContinued ? `${rest}MIME-Version: 1.0\r\n` : `${rest}\r\n`;
}

/** List a message's text parts in order, without attachments. */
function textParts(node: MessageStructureObject): MessageStructureObject[] {
  if (node.childNodes !== undefined && node.type.startsWith('multipart/')) return node.childNodes.flatMap(textParts);
  const isText = node.type === 'text/plain' || node.type === 'text/html';
  return isText && node.disposition !== 'attachment' ? [node] : [];
}
