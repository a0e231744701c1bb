import { createHash } from 'node:crypto';
import { Parser } from 'htmlparser2';
import type { Decoder } from '../../../ingest/extract/encoding/decoder.ts';
import { openDecoder } from '../../../ingest/extract/encoding/open-decoder.ts';
import { charsetOfHtml } from '../../../ingest/extract/html-charset.ts';
import { boundedLine } from '../../../platform/printable.ts';
import { pageAddress } from './page-address.ts';
import { NO_RULES, type PageRules, parseRules, stricter } from './page-rules.ts';

/** Maximum number of links to keep per page. */
const LINKS_MAX = 20_000;
/** Depth below which content is ignored, since the time for an end tag grows with the depth. */
const DEPTH_MAX = 1_000;
const TITLE_CHARS_MAX = 200;
/** Number of characters in `main` elements from which only these count as the page's text. */
const MAIN_CHARS_MIN = 200;

/** Elements whose text readers don't see. */
const UNSEEN = new Set(['script', 'style', 'noscript', 'template', 'iframe', 'svg']);
/** Elements around a page's main text, unless inside it. */
const AROUND = new Set(['header', 'footer', 'aside']);
const MAIN = new Set(['main', 'article']);

/** Facts about an HTML page that a crawl needs. */
export interface PageFacts {
  readonly title: string | null;
  /** Canonical URL of the page (RFC 6596). */
  readonly canonical: URL | null;
  /** Link addresses in page order, without repeats. */
  readonly links: readonly URL[];
  readonly rules: PageRules;
  /** SHA-256 of the title, and of visible text and elements. */
  readonly textHash: string;
}

/** SHA-256 of text and element names. Runs of whitespace are equal, and chunk boundaries don't matter. */
class TextHash {
  readonly #hash = createHash('sha256');
  #endsWithSpace = true;
  characters = 0;

  add(text: string): void {
    const even = text.replace(/\s+/g, ' ');
    const part = this.#endsWithSpace && even.startsWith(' ') ? even.slice(1) : even;
    if (part === '') return;
    this.#endsWithSpace = part.endsWith(' ');
    this.characters += part.length;
    this.#hash.update(part);
  }

  addElement(name: string): void {
    this.#hash.update(`<${name}>`);
    this.#endsWithSpace = true;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

export interface PageOptions {
  readonly url: URL;
  /** Charset from the content type. */
  readonly charset: string | null;
  /** True to hash only the page's main text, without navigation, headers and footers. */
  readonly isMainText: boolean;
  /** Crawler name, for which a page may have specific rules. */
  readonly robotName: string;
}

/**
 * Streaming parser for the facts of a page. It builds no tree: memory doesn't depend on the page size, and each part
 * takes little time.
 */
export class PageReader {
  readonly #options: PageOptions;
  readonly #parser: Parser;
  readonly #all = new TextHash();
  readonly #main = new TextHash();
  readonly #hrefs = new Set<string>();
  #decoder: Decoder | null = null;
  #depth = 0;
  /** Numbers of open invisible, surrounding and main elements. */
  #unseen = 0;
  #around = 0;
  #inMain = 0;
  #base: string | null = null;
  #canonical: string | null = null;
  #title: string | null = null;
  #isTitleOpen = false;
  #rules: PageRules = NO_RULES;

  constructor(options: PageOptions) {
    this.#options = options;
    this.#parser = new Parser({
      onopentag: (name, attributes) => this.#open(name, attributes),
      onclosetag: (name) => this.#close(name),
      ontext: (text) => this.#text(text),
    });
  }

  /** Parse the next part of the page. */
  write(bytes: Uint8Array): void {
    if (this.#depth > DEPTH_MAX) return;
    this.#decoder ??= decoderOf(this.#options.charset) ?? decoderOf(charsetOfHtml(bytes)) ?? new TextDecoder();
    this.#parser.write(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Return the facts at the end of the page. */
  end(): PageFacts {
    if (this.#depth <= DEPTH_MAX) this.#parser.end();
    const { url } = this.#options;
    const base = (this.#base === null ? null : pageAddress(this.#base, url)) ?? url;
    const links = [...this.#hrefs].flatMap((href) => pageAddress(href, base) ?? []);
    return {
      title: boundedLine(this.#title ?? '', TITLE_CHARS_MAX) || null,
      canonical: this.#canonical === null ? null : pageAddress(this.#canonical, base),
      links: [...new Map(links.map((link) => [link.href, link])).values()],
      rules: this.#rules,
      textHash: this.#textHash(),
    };
  }

  #textHash(): string {
    const isMain = this.#options.isMainText && this.#main.characters >= MAIN_CHARS_MIN;
    const text = (isMain ? this.#main : this.#all).digest();
    return createHash('sha256')
      .update(text)
      .update(this.#title ?? '')
      .digest('hex');
  }

  #open(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#depth++;
    this.#count(name, 1);
    if (this.#isTextCounted()) {
      this.#all.addElement(name);
      if (this.#inMain > 0) this.#main.addElement(name);
    }
    if (name === 'title' && this.#title === null && this.#unseen === 0) {
      this.#isTitleOpen = true;
      this.#title = '';
    } else if (name === 'a' || name === 'area') this.#addLink(attributes['href'], attributes['rel']);
    else if (name === 'frame' || name === 'iframe') this.#addLink(attributes['src'], undefined);
    else if (name === 'base') this.#base ??= attributes['href'] ?? null;
    else if (name === 'link' && hasWord(attributes['rel'], 'canonical')) this.#canonical ??= attributes['href'] ?? null;
    else if (name === 'meta') this.#readMeta(attributes);
  }

  #close(name: string): void {
    this.#depth--;
    this.#count(name, -1);
    if (name === 'title') this.#isTitleOpen = false;
  }

  #text(text: string): void {
    if (this.#isTitleOpen && this.#title !== null && this.#title.length < TITLE_CHARS_MAX) this.#title += text;
    if (!this.#isTextCounted()) return;
    this.#all.add(text);
    if (this.#inMain > 0) this.#main.add(text);
  }

  /** Count an element that opens (1) or closes (-1). */
  #count(name: string, change: 1 | -1): void {
    if (UNSEEN.has(name)) this.#unseen += change;
    else if (!this.#options.isMainText) return;
    else if (name === 'nav') this.#unseen += change;
    else if (AROUND.has(name)) this.#around += change;
    else if (MAIN.has(name)) this.#inMain += change;
  }

  #isTextCounted(): boolean {
    return this.#unseen === 0 && (this.#around === 0 || this.#inMain > 0);
  }

  #addLink(href: string | undefined, rel: string | undefined): void {
    if (href === undefined || hasWord(rel, 'nofollow') || this.#hrefs.size >= LINKS_MAX) return;
    // Fragments don't address other pages, and a page may link to thousands.
    const address = href.trim().replace(/#.*$/s, '');
    if (address !== '') this.#hrefs.add(address);
  }

  #readMeta(attributes: Readonly<Record<string, string>>): void {
    const content = attributes['content'] ?? '';
    const name = attributes['name']?.trim().toLowerCase();
    const { robotName } = this.#options;
    if (name === 'robots' || name === robotName.toLowerCase()) {
      this.#rules = stricter(this.#rules, parseRules(content, robotName));
    } else if (attributes['http-equiv']?.toLowerCase() === 'refresh') {
      this.#addLink(/^[\d.\s]*[;,]\s*url\s*=\s*["']?([^"']+)/i.exec(content)?.[1], undefined);
    }
  }
}

function decoderOf(charset: string | null): Decoder | null {
  return charset === null ? null : openDecoder(charset);
}

/** Return true if a list of words, such as the attribute `rel`, contains a word. */
function hasWord(words: string | undefined, word: string): boolean {
  return words?.toLowerCase().split(/\s+/).includes(word) === true;
}
