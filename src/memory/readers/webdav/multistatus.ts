import { setImmediate as nextTurn } from 'node:timers/promises';
import { SaxesParser } from 'saxes';
import { SourceFault } from '../source-reader.ts';

const NAMESPACE = 'DAV:';
/** Maximum length of the description of a file or folder. */
const RESPONSE_CHARS_MAX = 1024 * 1024;

/** File or folder in a listing. */
export interface DavResource {
  /** Percent-encoded address: a path or a complete URL. */
  readonly href: string;
  /** Status code of a resource that the server can't describe; otherwise null. */
  readonly status: number | null;
  readonly isCollection: boolean;
  readonly etag: string | null;
  readonly sizeBytes: number | null;
  readonly modifiedMs: number | null;
}

type Properties = Pick<DavResource, 'isCollection' | 'etag' | 'sizeBytes' | 'modifiedMs'>;

const NO_PROPERTIES: Properties = { isCollection: false, etag: null, sizeBytes: null, modifiedMs: null };

/**
 * Parse the body of a 207 response (RFC 4918, section 13) as a stream.
 *
 * @returns resources, in groups as they arrive
 * @throws SourceFault for an incomplete or invalid multistatus document; the errors of `body`
 */
export async function* readMultistatus(
  body: AsyncIterable<Uint8Array>,
  place: string,
): AsyncGenerator<DavResource[], void> {
  const decoder = new TextDecoder();
  const reader = new MultistatusReader();
  try {
    for await (const bytes of body) {
      reader.write(decoder.decode(bytes, { stream: true }));
      const found = reader.take();
      if (found.length > 0) yield found;
      // Yield to other work of the process, even if all parts have arrived.
      await nextTurn();
    }
    reader.write(decoder.decode());
    reader.end();
  } catch (error) {
    if (!(error instanceof XmlFault)) throw error;
    const message = `${place} sends a listing that cannot be read (${error.message}); check that url is that of WebDAV`;
    throw new SourceFault('source_unavailable', message, { cause: error });
  }
}

class XmlFault extends Error {}

class MultistatusReader {
  readonly #parser = new SaxesParser({ xmlns: true });
  /** Names of the open elements; empty for elements of other namespaces. */
  readonly #open: string[] = [];
  #text = '';
  #found: DavResource[] = [];
  #href = '';
  #status: number | null = null;
  #properties = NO_PROPERTIES;
  /** Properties of the open `propstat` element. They count only if its status is a success. */
  #pending = NO_PROPERTIES;
  #pendingStatus = 0;
  #charsSinceResponse = 0;

  constructor() {
    this.#parser.on('error', (error) => {
      throw new XmlFault(error.message);
    });
    this.#parser.on('opentag', ({ uri, local }) => this.#onOpen(uri === NAMESPACE ? local : ''));
    this.#parser.on('text', (text) => {
      this.#text += text;
    });
    this.#parser.on('cdata', (text) => {
      this.#text += text;
    });
    this.#parser.on('closetag', () => this.#onClose());
  }

  write(text: string): void {
    this.#charsSinceResponse += text.length;
    this.#parser.write(text);
    if (this.#charsSinceResponse > RESPONSE_CHARS_MAX) throw new XmlFault('one of its entries is too long');
  }

  /** Return the resources parsed since the last call. */
  take(): DavResource[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  end(): void {
    this.#parser.close();
  }

  #onOpen(name: string): void {
    if (this.#open.length === 0 && name !== 'multistatus') throw new XmlFault('it is no multistatus document');
    this.#open.push(name);
    this.#text = '';
    if (name === 'response') {
      this.#href = '';
      this.#status = null;
      this.#properties = NO_PROPERTIES;
    } else if (name === 'propstat') {
      this.#pending = NO_PROPERTIES;
      this.#pendingStatus = 0;
    }
  }

  #onClose(): void {
    const name = this.#open.pop() ?? '';
    const parent = this.#open.at(-1);
    const text = this.#text.trim();
    this.#text = '';
    if (parent === 'prop') this.#onProperty(name, text);
    else if (parent === 'resourcetype' && name === 'collection')
      this.#pending = { ...this.#pending, isCollection: true };
    else if (parent === 'propstat' && name === 'status') this.#pendingStatus = statusOf(text);
    else if (parent === 'response' && name === 'status') this.#status = statusOf(text);
    else if (parent === 'response' && name === 'href') this.#href = text;
    else if (parent === 'response' && name === 'propstat') {
      if (this.#pendingStatus >= 200 && this.#pendingStatus < 300) this.#properties = this.#pending;
    } else if (parent === 'multistatus' && name === 'response') this.#onResponse();
  }

  #onProperty(name: string, text: string): void {
    if (name === 'getetag') this.#pending = { ...this.#pending, etag: text || null };
    else if (name === 'getcontentlength' && /^\d{1,15}$/.test(text)) {
      this.#pending = { ...this.#pending, sizeBytes: Number(text) };
    } else if (name === 'getlastmodified') {
      const time = Date.parse(text);
      this.#pending = { ...this.#pending, modifiedMs: Number.isNaN(time) ? null : time };
    }
  }

  #onResponse(): void {
    this.#charsSinceResponse = 0;
    const isFailure = this.#status !== null && this.#status >= 400;
    this.#found.push({ href: this.#href, status: isFailure ? this.#status : null, ...this.#properties });
  }
}

/** Parse a status line such as `HTTP/1.1 200 OK`. */
function statusOf(line: string): number {
  return Number(/^HTTP\/[\d.]+ (\d{3})\b/.exec(line)?.[1] ?? 0);
}
