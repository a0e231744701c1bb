import { SaxesParser } from 'saxes';
import { byteOrderMark, wideByPattern } from '../decode-text.ts';
import type { Decoder } from '../encoding/decoder.ts';
import { openDecoder } from '../encoding/open-decoder.ts';
import { ExtractError } from '../errors.ts';

/**
 * Attributes by name. A name has the prefix given in `NAMESPACES`, whatever prefix the file uses, or no prefix if it
 * has no namespace.
 */
export type XmlAttributes = Readonly<Record<string, string>>;

/**
 * Handler called in document order. Names have the prefix given in `NAMESPACES`; other namespaces have the prefix `-:`.
 */
export interface XmlHandler {
  open?(name: string, attributes: XmlAttributes): void;
  close?(name: string): void;
  /** Handle text or CDATA. One text may arrive in several parts. */
  text?(text: string): void;
}

const DEPTH_MAX = 1_000;
const DECLARATION_BYTES = 256;
/** Maximum number of cached names, since a file may contain arbitrarily many. */
const NAMES_MAX = 1_000;
const XMLNS = 'http://www.w3.org/2000/xmlns/';

/** Transitional and strict namespaces of ISO/IEC 29500, and those of ODF 1.x, EPUB, OWPML and XML encryption. */
const NAMESPACES: ReadonlyArray<readonly [RegExp, string]> = [
  [/\/wordprocessingml\/(2006\/)?main$/, 'w'],
  [/\/spreadsheetml\/(2006\/)?main$/, 'x'],
  [/\/presentationml\/(2006\/)?main$/, 'p'],
  [/\/drawingml\/(2006\/)?main$/, 'a'],
  [/\/drawingml\/(2006\/)?chart$/, 'c'],
  [/\/drawingml\/(2006\/)?diagram$/, 'dgm'],
  [/\/officeDocument\/(2006\/)?relationships$/, 'r'],
  [/\/officeDocument\/(2006\/)?math$/, 'm'],
  [/\/markup-compatibility\/2006$/, 'mc'],
  [/\/package\/2006\/relationships$/, 'rel'],
  [/\/package\/2006\/content-types$/, 'ct'],
  [/^urn:oasis:names:tc:opendocument:xmlns:office:1\.0$/, 'office'],
  [/^urn:oasis:names:tc:opendocument:xmlns:text:1\.0$/, 'text'],
  [/^urn:oasis:names:tc:opendocument:xmlns:table:1\.0$/, 'table'],
  [/^urn:oasis:names:tc:opendocument:xmlns:drawing:1\.0$/, 'draw'],
  [/^urn:oasis:names:tc:opendocument:xmlns:presentation:1\.0$/, 'presentation'],
  [/^urn:oasis:names:tc:opendocument:xmlns:chart:1\.0$/, 'chart'],
  [/^http:\/\/www\.w3\.org\/1999\/xlink$/, 'xlink'],
  [/^urn:oasis:names:tc:opendocument:xmlns:style:1\.0$/, 'style'],
  [/^urn:oasis:names:tc:opendocument:xmlns:manifest:1\.0$/, 'manifest'],
  [/^urn:oasis:names:tc:opendocument:xmlns:container$/, 'container'],
  [/^http:\/\/www\.idpf\.org\/2007\/opf\/?$/, 'opf'],
  [/^http:\/\/purl\.org\/dc\/elements\/1\.1\/?$/, 'dc'],
  [/^http:\/\/www\.daisy\.org\/z3986\/2005\/ncx\/?$/, 'ncx'],
  [/^http:\/\/www\.w3\.org\/2001\/04\/xmlenc#$/, 'enc'],
  [/\/hwpml\/\d+\/paragraph$/, 'hp'],
  [/\/hwpml\/\d+\/section$/, 'hs'],
  [/\/hwpml\/\d+\/head$/, 'hh'],
];

/**
 * Parse XML as a stream. Only the five predefined entities and character references are supported. Entities of a
 * document type, internal or external, are never defined, so using one is an error and nothing is ever fetched.
 * @param drain awaited after every part of the input, so that the handler's output is consumed
 * @throws ExtractError `corrupt` for XML that is not well-formed or nested deeper than 1,000 elements; errors of the
 *   handler
 */
export async function parseXml(
  source: AsyncIterable<Uint8Array>,
  handler: XmlHandler,
  drain?: () => Promise<void>,
): Promise<void> {
  const parser = new SaxesParser({ xmlns: true });
  const names = new CanonicalNames();
  let depth = 0;
  parser.on('error', (error) => {
    throw new ExtractError('corrupt', 'a part of the document is not well-formed XML', error);
  });
  parser.on('opentag', (tag) => {
    if (++depth > DEPTH_MAX) throw new ExtractError('corrupt', 'the document is nested too deeply');
    if (handler.open === undefined) return;
    const attributes: Record<string, string> = Object.create(null);
    for (const raw in tag.attributes) {
      const attribute = tag.attributes[raw];
      if (attribute === undefined || attribute.uri === XMLNS) continue;
      const name = attribute.uri === '' ? attribute.local : names.of(attribute.uri, attribute.local);
      attributes[name] = attribute.value;
    }
    handler.open(names.of(tag.uri, tag.local), attributes);
  });
  parser.on('closetag', (tag) => {
    depth--;
    handler.close?.(names.of(tag.uri, tag.local));
  });
  const onText = (text: string) => handler.text?.(text);
  parser.on('text', onText);
  parser.on('cdata', onText);

  let decoder: Decoder | null = null;
  for await (const bytes of source) {
    decoder ??= decoderFor(bytes);
    parser.write(decoder.decode(bytes, { stream: true }));
    await drain?.();
  }
  parser.write(decoder?.decode() ?? '');
  parser.close();
}

/** Choose the encoding by byte order mark, UTF-16 pattern, or declaration, else UTF-8 (XML 1.0, appendix F). */
function decoderFor(start: Uint8Array): Decoder {
  const head = Buffer.from(start.subarray(0, DECLARATION_BYTES)).toString('latin1');
  const found = byteOrderMark(start) ?? wideByPattern(start);
  const declared = /^<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(head)?.[1] ?? 'utf-8';
  const decoder = openDecoder(found ?? declared);
  if (decoder === null) throw new ExtractError('corrupt', `the encoding ${declared} of the document is unknown`);
  return decoder;
}

class CanonicalNames {
  readonly #prefixes = new Map<string, string>();
  /** Cache of composed names by namespace and local name, since a few names occur millions of times. */
  readonly #names = new Map<string, Map<string, string>>();

  of(uri: string, local: string): string {
    let names = this.#names.get(uri);
    if (names === undefined) {
      names = new Map();
      if (this.#names.size < NAMES_MAX) this.#names.set(uri, names);
    }
    let name = names.get(local);
    if (name === undefined) {
      name = uri === '' ? local : `${this.#prefixOf(uri)}:${local}`;
      if (names.size < NAMES_MAX) names.set(local, name);
    }
    return name;
  }

  #prefixOf(uri: string): string {
    let prefix = this.#prefixes.get(uri);
    if (prefix === undefined) {
      prefix = NAMESPACES.find(([pattern]) => pattern.test(uri))?.[1] ?? '-';
      if (this.#prefixes.size < NAMES_MAX) this.#prefixes.set(uri, prefix);
    }
    return prefix;
  }
}
