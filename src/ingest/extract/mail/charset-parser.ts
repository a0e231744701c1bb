import PostalMime, { type PostalMimeOptions } from 'postal-mime';
import { decodeText } from '../decode-text.ts';
import { openDecoder } from '../encoding/open-decoder.ts';
import { charsetOfHtml } from '../html-charset.ts';

/** Mail part within the library, which doesn't publish its type. The mail tests fail if it changes. */
interface MimeNode {
  readonly state: 'header' | 'body' | 'finished';
  readonly contentType: { readonly parsed: { readonly value: string; readonly params: Record<string, string> } };
  content: ArrayBuffer | null;
}
interface Internals {
  readonly currentNode: MimeNode;
  processLine(line: Uint8Array, isFinal: boolean): Promise<void>;
  collectNode(node: MimeNode, ...more: unknown[]): Promise<void>;
}
const DECLARED_BYTES = 256 * 1024;
/** Length from which the lines of a header are no longer joined. */
const HEADER_BYTES_MAX = 64 * 1024;
const SPACE = 0x20;
const TAB = 0x09;
const base = PostalMime.prototype as unknown as Internals;

/**
 * Mail parser that decodes text and headers like files. The library knows fewer encodings, and decodes text with a
 * missing, unknown or wrong charset as windows-1252 or UTF-8.
 */
export class CharsetParser extends PostalMime {
  /** @param charset charset of raw bytes in headers, if they fit, as declared by a part of the mail */
  constructor(options: PostalMimeOptions, charset: string | null) {
    super(options);
    /** Lines of a header so far. An encoded word may end within a character that the next line continues. */
    let held: Buffer | null = null;
    const passHeld = async (isFinal: boolean) => {
      const header = held;
      held = null;
      if (header !== null) await base.processLine.call(this, headerInUtf8(header, charset), isFinal);
    };
    const own: Pick<Internals, 'processLine' | 'collectNode'> = {
      processLine: async (line, isFinal) => {
        const isFolded = line[0] === SPACE || line[0] === TAB;
        if (held !== null && isFolded && held.length < HEADER_BYTES_MAX) held = Buffer.concat([held, line]);
        else {
          await passHeld(false);
          const isHeader = (this as unknown as Internals).currentNode.state === 'header';
          if (!isHeader || line.length === 0) return base.processLine.call(this, line, isFinal);
          held = Buffer.from(line);
        }
        if (isFinal) await passHeld(true);
      },
      collectNode: async (node, ...more) => {
        decodeBody(node);
        await base.collectNode.call(this, node, ...more);
      },
    };
    Object.assign(this, own);
  }
}

/**
 * Find the charset of raw bytes in a mail's headers: the first declared one that is neither ASCII nor Unicode, else
 * that of the raw bytes of the entire mail, which are more than in a header.
 */
export function charsetOfMail(bytes: Uint8Array): string | null {
  const sample = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, DECLARED_BYTES));
  const start = sample.toString('latin1');
  const labels = [...start.matchAll(/charset\s*=\s*["']?([\w.:-]{1,40})/gi)].map(([, label = '']) => label);
  const declared = labels.find((label) => !/ascii|utf/i.test(label) && openDecoder(label) !== null);
  return declared ?? (/[\x80-\xff]/.test(start) ? decodeText(sample).encoding : null);
}

/** Convert the bytes of a part to UTF-8. Leave an attachment unchanged. */
function decodeBody(node: MimeNode): void {
  const { value, params } = node.contentType.parsed;
  if (!node.content || !/^text\/(?:plain|html|calendar)$/.test(value)) return;
  const bytes = new Uint8Array(node.content);
  const declared = [params.charset ?? null, value === 'text/html' ? charsetOfHtml(bytes) : null];
  node.content = Uint8Array.from(Buffer.from(decodeText(bytes, declared).text)).buffer;
  params.charset = 'utf-8';
}

const ENCODED_WORDS = /=\?([^?\s*]+)(?:\*[^?\s]*)?\?([QB])\?([^?]*)\?=(?:[ \t]+=\?\1(?:\*[^?\s]*)?\?\2\?[^?]*\?=)*/gi;
// Leave a value in several sections unchanged, since the first section names the charset of all.
const EXTENDED_VALUE = /(\w\*=\s*"?)([\w.:-]+)('[\w-]*')((?:%[0-9a-f]{2}|[^\s;"%])+)/gi;

/** Convert a header line to UTF-8: its raw bytes, encoded words (RFC 2047) and extended values (RFC 2231). */
function headerInUtf8(line: Uint8Array, charset: string | null): Uint8Array {
  const { text } = decodeText(line, charset);
  const plain = text
    .replace(ENCODED_WORDS, (words, charset: string) => encodedInUtf8(words, charset))
    .replace(EXTENDED_VALUE, (whole, start: string, charset: string, language: string, value: string) => {
      const decoded = decodeStrictly(percentBytes(value), charset);
      return decoded === null ? whole : `${start}utf-8${language}${encodeURIComponent(decoded)}`;
    });
  return Uint8Array.from(Buffer.from(plain));
}

/** Join the bytes of adjacent words, since a character may be split between two, and convert them to UTF-8. */
function encodedInUtf8(words: string, charset: string): string {
  const bytes = [...words.matchAll(/\?([QB])\?([^?]*)\?=/gi)].map(([, kind, data = '']) =>
    /b/i.test(kind ?? '') ? Buffer.from(data, 'base64') : quotedBytes(data),
  );
  const decoded = decodeStrictly(Buffer.concat(bytes), charset);
  return decoded === null ? words : `=?utf-8?B?${Buffer.from(decoded).toString('base64')}?=`;
}

/** Decode bytes in a declared charset or, if it is unknown or wrong, in a guessed one; null if still invalid. */
function decodeStrictly(bytes: Uint8Array, charset: string): string | null {
  const declared = openDecoder(charset)?.decode(bytes);
  const text = declared === undefined || declared.includes('\ufffd') ? decodeText(bytes, charset).text : declared;
  return text.includes('\ufffd') ? null : text;
}

function quotedBytes(data: string): Buffer {
  return percentBytes(data.replaceAll('%', '=25').replaceAll('_', ' ').replaceAll('=', '%'));
}

function percentBytes(value: string): Buffer {
  return Buffer.from(
    value.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  );
}
