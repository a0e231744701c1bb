import { patternOf } from './page-address.ts';
import { isOtherFile } from './page-types.ts';
import type { WebScope } from './web-scope.ts';

/** Pages that are followed of those that differ in the numbers of their query or in the date of their path. */
const SIMILAR_MAX = 500;
/** Addresses that are remembered, for each page that a source may have. */
const ADDRESSES_PER_PAGE = 20;

/** Page to request. */
export interface CrawlItem {
  readonly url: URL;
  /** Redirects and canonical addresses that led from a link to this page. */
  readonly hops: number;
  readonly isStart: boolean;
  /** Text of `lastmod`, if a sitemap names the page. */
  readonly lastmod: string | null;
}

/** Addresses that a crawl has met: each is requested once, and those of an infinite space up to a bound. */
export class Frontier {
  readonly #scope: WebScope;
  readonly #pagesMax: number;
  readonly #met = new Set<string>();
  readonly #patterns = new Map<string, number>();
  /** Patterns of which addresses were left out. */
  readonly cut = new Set<string>();

  constructor(scope: WebScope, pagesMax: number) {
    this.#scope = scope;
    this.#pagesMax = pagesMax;
  }

  /** Return true if the crawl has met an address. */
  has(address: string): boolean {
    return this.#met.has(address);
  }

  /** Take an address that the source names: a start, or a page of a sitemap. @returns null if it was met before */
  takeNamed(url: URL, about: { readonly isStart: boolean; readonly lastmod: string | null }): CrawlItem | null {
    if (this.#met.has(url.href)) return null;
    this.#met.add(url.href);
    return { url, hops: 0, ...about };
  }

  /** Take the address of a link. @returns null if it was met before, is out of scope, or is one too many */
  takeLink(url: URL, hops = 0): CrawlItem | null {
    const { href } = url;
    if (this.#met.has(href) || this.#met.size >= this.#pagesMax * ADDRESSES_PER_PAGE) return null;
    if (isOtherFile(url) || !this.#scope.includes(url) || !this.#hasPlace(url)) return null;
    this.#met.add(href);
    return { url, hops, isStart: false, lastmod: null };
  }

  /** Count the address of a page that a program may make without end, and return false if it is one too many. */
  #hasPlace(url: URL): boolean {
    if (!isGenerated(url)) return true;
    const pattern = patternOf(url);
    const count = (this.#patterns.get(pattern) ?? 0) + 1;
    this.#patterns.set(pattern, count);
    if (count > SIMILAR_MAX) this.cut.add(pattern);
    return count <= SIMILAR_MAX;
  }
}

/** Return true for a number in the query, and for a path that ends with a date, as those of a calendar. */
function isGenerated({ pathname, search }: URL): boolean {
  return /\d/.test(search) || /\b(?:19|20)\d\d(?:[-/]\d{1,2}){1,2}\/?$/.test(pathname);
}
