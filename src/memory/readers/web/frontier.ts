import { patternOf } from './page-address.ts';
import { isOtherFile } from './page-types.ts';
import type { WebScope } from './web-scope.ts';

/** Maximum number of pages to follow that differ only in query numbers or in the date in their path. */
const SIMILAR_MAX = 500;
/** Number of addresses to remember per page that a source may have. */
const ADDRESSES_PER_PAGE = 20;

/** Page to request. */
export interface CrawlItem {
  readonly url: URL;
  /** Number of redirects and canonical URLs between the link and this page. */
  readonly hops: number;
  readonly isStart: boolean;
  /** Text of `lastmod`, if the page is in a sitemap. */
  readonly lastmod: string | null;
}

/** Addresses that a crawl has met. Each is requested once, and those of an infinite space only up to a limit. */
export class Frontier {
  readonly #scope: WebScope;
  readonly #pagesMax: number;
  readonly #met = new Set<string>();
  readonly #patterns = new Map<string, number>();
  /** Patterns of skipped addresses. */
  readonly cut = new Set<string>();

  constructor(scope: WebScope, pagesMax: number) {
    this.#scope = scope;
    this.#pagesMax = pagesMax;
  }

  /** Return true if the crawl has met an address. */
  has(address: string): boolean {
    return this.#met.has(address);
  }

  /** Add an address named by the source: a start, or a page of a sitemap. @returns null if already met */
  takeNamed(url: URL, about: { readonly isStart: boolean; readonly lastmod: string | null }): CrawlItem | null {
    if (this.#met.has(url.href)) return null;
    this.#met.add(url.href);
    return { url, hops: 0, ...about };
  }

  /** Add a link address. @returns null if already met, out of scope, or over a limit */
  takeLink(url: URL, hops = 0): CrawlItem | null {
    const { href } = url;
    if (this.#met.has(href) || this.#met.size >= this.#pagesMax * ADDRESSES_PER_PAGE) return null;
    if (isOtherFile(url) || !this.#scope.includes(url) || !this.#hasPlace(url)) return null;
    this.#met.add(href);
    return { url, hops, isStart: false, lastmod: null };
  }

  /** Count an address that may belong to an infinite space. Return false if it exceeds the limit. */
  #hasPlace(url: URL): boolean {
    if (!isGenerated(url)) return true;
    const pattern = patternOf(url);
    const count = (this.#patterns.get(pattern) ?? 0) + 1;
    this.#patterns.set(pattern, count);
    if (count > SIMILAR_MAX) this.cut.add(pattern);
    return count <= SIMILAR_MAX;
  }
}

/** Return true for an address with a number in its query or a date at the end of its path, like a calendar. */
function isGenerated({ pathname, search }: URL): boolean {
  return /\d/.test(search) || /\b(?:19|20)\d\d(?:[-/]\d{1,2}){1,2}\/?$/.test(pathname);
}
