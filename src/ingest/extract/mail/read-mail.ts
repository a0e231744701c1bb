import type { Address, Attachment, Email } from 'postal-mime';
import { ExtractError, isOutOfMemory, isPartCategory } from '../errors.ts';
import { readHtml } from '../read-html.ts';
import { readText } from '../read-text.ts';
import { type Reading, type ReadResult, resultOf, type SkippedPart } from '../reader.ts';
import { AttachmentImages, AttachmentSink } from './attachment-sink.ts';
import { CharsetParser, charsetOfMail } from './charset-parser.ts';

/** Maximum depth of attached mails to read. Of deeper attachments, only the name is added. */
const DEPTH_MAX = 3;
const ATTACHMENTS_MAX = 500;
const PARTS_DEPTH_MAX = 50;

/** Document within another one. */
export interface ContainedDocument {
  readonly bytes: Uint8Array;
  readonly fileName: string;
  readonly contentType: string;
  /** Depth from 1: that of the mail's own attachments. */
  readonly depth: number;
}

export type ReadContained = (document: ContainedDocument, reading: Reading) => Promise<ReadResult>;

/**
 * Read the text of a mail (RFC 5322, MIME): its subject as a heading, sender, recipients and date, the body (HTML if
 * there is one), and every attachment as a section under its name. Each attachment is read by its format's reader. An
 * unreadable attachment is named in the text and in `skipped`. Pictures shown in the body are read only with the
 * strategy `always`.
 * @param depth 0 for the mail itself, 1 for a mail attached to it
 */
export async function readMail(
  bytes: Uint8Array,
  reading: Reading,
  depth: number,
  readContained: ReadContained,
): Promise<ReadResult> {
  const { sink } = reading;
  const mail = await parse(bytes);
  if (isEncrypted(mail)) throw new ExtractError('encrypted', 'the mail is encrypted; decrypt it and upload it again');
  const subject = mail.subject?.trim() ?? '';
  if (subject !== '') sink.add({ kind: 'heading', level: 1, text: subject });
  const head = headOf(mail);
  if (head !== '') sink.add({ kind: 'paragraph', text: head });
  const body = mail.html?.trim() ? readHtml(Buffer.from(mail.html), 'utf-8') : readText(mail.text ?? '');
  for (const block of body) sink.add(block.kind === 'heading' ? { ...block, level: (block.level ?? 1) + 1 } : block);
  await sink.flush();
  if (mail.attachments.length > ATTACHMENTS_MAX) {
    throw new ExtractError('too_large', `the mail has more than ${ATTACHMENTS_MAX} attachments`);
  }
  const skipped: SkippedPart[] = [];
  const names = new Map<string, number>();
  let unnamed = 0;
  for (const attachment of mail.attachments) {
    const isShown = attachment.related && attachment.mimeType.startsWith('image/');
    if (isShown && reading.images?.strategy !== 'always') continue;
    const name = distinctName(cleanName(attachment.filename ?? '') || `Attachment ${++unnamed}`, names);
    skipped.push(...(await readAttachment(attachment, name, reading, depth + 1, readContained)));
    await sink.flush();
  }
  return resultOf('eml', { skipped });
}

// The process that reads documents has no access to `platform/printable.ts`.
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;

/** Return a one-line name that can be stored and isn't visually misleading. */
function cleanName(name: string): string {
  return name.toWellFormed().replace(UNPRINTABLE, ' ').trim();
}

/** Add a number to a name that another attachment has, so that each can be cited. */
function distinctName(name: string, names: Map<string, number>): string {
  const count = (names.get(name) ?? 0) + 1;
  names.set(name, count);
  return count === 1 ? name : `${name} (${count})`;
}

async function readAttachment(
  attachment: Attachment,
  name: string,
  reading: Reading,
  depth: number,
  readContained: ReadContained,
): Promise<SkippedPart[]> {
  const sink = new AttachmentSink(reading.sink, name);
  try {
    if (depth > DEPTH_MAX) throw new ExtractError('too_large', 'attachments are nested too deeply');
    const { content, mimeType } = attachment;
    const bytes = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content);
    const fileName = attachment.filename ?? (mimeType === 'message/rfc822' ? 'message.eml' : '');
    const document = { bytes, fileName, contentType: mimeType, depth };
    const images = reading.images && new AttachmentImages(reading.images, sink);
    const { skipped, failedPages } = await readContained(document, { ...reading, sink, images });
    const pages: SkippedPart[] = failedPages.map((page) => ({ name: `page ${page}`, category: 'corrupt' }));
    return [...pages, ...skipped].map((part) => ({ ...part, name: `${name} / ${part.name}` }));
  } catch (error) {
    // An unreadable attachment must not prevent reading the others, unless it has used up a limit.
    if (!(error instanceof ExtractError) || sink.isFull) throw error;
    if (!isPartCategory(error.category)) throw error;
    return [{ name, category: error.category }];
  } finally {
    // Make the attachment at least searchable by name.
    sink.open();
  }
}

async function parse(bytes: Uint8Array): Promise<Email> {
  try {
    const parser = new CharsetParser(
      { forceRfc822Attachments: true, maxNestingDepth: PARTS_DEPTH_MAX },
      charsetOfMail(bytes),
    );
    return await parser.parse(bytes);
  } catch (error) {
    if (isOutOfMemory(String(error))) throw error;
    throw new ExtractError('corrupt', 'the mail is damaged', error);
  }
}

/** Return true for a mail encrypted with S/MIME (RFC 8551) or PGP (RFC 3156). Only its envelope is readable. */
function isEncrypted({ headers }: Email): boolean {
  const type = headers.find(({ key }) => key === 'content-type')?.value ?? '';
  return /^\s*multipart\/encrypted\b/i.test(type) || /^\s*application\/(x-)?pkcs7-mime\b.*enveloped-data/is.test(type);
}

function headOf(mail: Email): string {
  const lines: Array<[string, string]> = [
    ['From', mail.from === undefined ? '' : addressText(mail.from)],
    ['To', (mail.to ?? []).map(addressText).join(', ')],
    ['Cc', (mail.cc ?? []).map(addressText).join(', ')],
    ['Date', mail.date ?? ''],
  ];
  return lines
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

function addressText(address: Address): string {
  if (address.address === undefined) return `${address.name}: ${address.group.map(addressText).join(', ')}`;
  return address.name === '' ? address.address : `${address.name} <${address.address}>`;
}
