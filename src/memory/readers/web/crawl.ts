import { type ListedEntry, type Listing, SourceFault } from '../source-reader.ts';
import { CrawlListing, type FoundPage } from './crawl-listing.ts';
import { type CrawlItem, Frontier } from './frontier.ts';
import { type GetPageOptions, type GotPage, getPage, type PageOutcome } from './get-page.ts';
import { REDIRECTS_MAX } from './get-text.ts';
import { pageAddress } from './page-address.ts';
import type { PageNote, PageNotes } from './page-notes.ts';
import { type Robots, readRobots } from './robots.ts';
import { readSitemaps, type Sitemap } from './sitemaps.ts';
import { isFresh, noFirstPage } from './start-faults.ts';
import { CONNECTIONS_MAX } from './web-client.ts';
import type { WebScope } from './web-scope.ts';

/** Maximum time per slice of a listing, not counting slow pages. */
const SLICE_MS = 5_000;
/** Number of consecutive failures after which a site counts as down. */
const FAILURES_IN_ROW_MAX = 20;
/** Maximum number of reported patterns of skipped pages. */
const CUT_PATTERNS_MAX = 10;

export interface CrawlOptions extends GetPageOptions {
  readonly scope: WebScope;
  readonly config: { readonly sitemap: 'auto' | 'only' | 'off'; readonly depth: number; readonly pages: number };
  readonly userAgent: string;
  /** Notes of the previous crawl; null if there are none. */
  readonly known: PageNotes | null;
}

/**
 * Breadth-first crawl of one source. Pages at the same depth are requested together, but processed in link order, so
 * that the same site yields the same entries.
 */
export class Crawl {
  /** Notes for the next crawl. */
  readonly notes: PageNotes = new Map();
  readonly #options: CrawlOptions;
  readonly #frontier: Frontier;
  readonly #listing: CrawlListing;
  readonly #robots = new Map<string, Robots>();
  /** Interned link addresses. */
  readonly #addresses = new Map<string, string>();
  /** Consecutive failures by origin. */
  readonly #failures = new Map<string, number>();
  #startProblem: SourceFault | null = null;

  constructor(options: CrawlOptions) {
    this.#options = options;
    const pagesMax = options.config.pages;
    this.#frontier = new Frontier(options.scope, pagesMax);
    this.#listing = new CrawlListing({ pagesMax, hasNotes: options.known !== null });
  }

  /** Return the location of a listed entry. */
  placeOf(key: string): FoundPage | null {
    return this.#listing.placeOf(key);
  }

  /** Run the crawl. @throws SourceFault, the reason of the signal */
  async *run(signal: AbortSignal): AsyncGenerator<Listing> {
    const { scope, config } = this.#options;
    for (const start of scope.starts) {
      await this.#readRules(start, signal);
      yield this.#listing.takeSlice();
    }
    const fromSitemaps: CrawlItem[] = [];
    if (config.sitemap !== 'off') yield* this.#readSitemaps(fromSitemaps, signal);
    const starts = config.sitemap === 'only' ? [] : this.#takeStarts();
    let level = [...starts, ...fromSitemaps];
    const depth = config.sitemap === 'only' ? 0 : config.depth;
    for (let distance = 0; level.length > 0 && !this.#listing.isCut; distance++) {
      const next: CrawlItem[] = [];
      yield* this.#readLevel(level, distance < depth ? next : null, signal);
      level = next;
    }
    if (this.#startProblem !== null && !this.#listing.hasEntries) throw this.#startProblem;
    if (this.#listing.isIncomplete) yield* this.#readLevel(this.#unreached(), null, signal);
    this.#listing.addRest();
    this.#addRemarks();
    yield this.#listing.takeSlice();
  }

  async #readRules(start: URL, signal: AbortSignal): Promise<void> {
    const { client, userAgent } = this.#options;
    if (this.#robots.has(start.origin)) return;
    this.#robots.set(start.origin, await readRobots(client, start, userAgent, signal));
  }

  #mayRequest(url: URL): boolean {
    return this.#robots.get(url.origin)?.allows(url) === true;
  }

  #takeStarts(): CrawlItem[] {
    return this.#options.scope.starts.flatMap((url) => {
      if (!this.#mayRequest(url)) {
        this.#startProblem ??= noFirstPage.forbidden(url, this.#options.userAgent);
        return [];
      }
      return this.#frontier.takeNamed(url, { isStart: true, lastmod: null }) ?? [];
    });
  }

  /** Read the sitemaps of all sites, as named in robots.txt and at the default location. Add their pages to a level. */
  async *#readSitemaps(level: CrawlItem[], signal: AbortSignal): AsyncGenerator<Listing> {
    const { client, scope, config } = this.#options;
    const named = [...this.#robots].flatMap(([origin, { sitemaps }]) => [...sitemaps, `${origin}/sitemap.xml`]);
    const first = named.flatMap((address) => pageAddress(address) ?? []);
    const mayRead = (url: URL) => scope.isAtStart(url) && this.#mayRequest(url);
    const includes = (url: URL) => scope.includes(url) && this.#mayRequest(url);
    let hasRead = false;
    let failed: Sitemap | undefined;
    for await (const sitemap of readSitemaps(client, first, { mayRead, includes }, signal)) {
      hasRead ||= sitemap.fault === null;
      if (sitemap.fault !== null) {
        failed ??= sitemap;
        this.#listing.addFault(sitemap.url.origin, sitemap.url.href, `this sitemap cannot be read: ${sitemap.fault}`);
      }
      for (const { url, lastmod } of sitemap.pages) {
        const item = this.#frontier.takeNamed(url, { isStart: false, lastmod });
        if (item !== null) level.push(item);
      }
      yield this.#listing.takeSlice();
    }
    if (config.sitemap === 'only' && !hasRead) throw noFirstPage.withoutSitemap(scope.starts, failed);
  }

  /**
   * Read the pages at one depth, plus redirect targets and canonical URLs.
   * @param next receives linked pages; null to follow no links
   */
  async *#readLevel(level: CrawlItem[], next: CrawlItem[] | null, signal: AbortSignal): AsyncGenerator<Listing> {
    for (let at = 0; at < level.length; ) {
      if (this.#listing.isFull) {
        this.#listing.cut();
        return;
      }
      const slice = level.slice(at, at + this.#sliceSize(level[at] as CrawlItem));
      at += slice.length;
      const outcomes = await Promise.all(slice.map((item) => this.#read(item, signal)));
      for (const [index, outcome] of outcomes.entries()) {
        const item = slice[index] as CrawlItem;
        this.#noteFailure(item.url, outcome);
        const links = this.#take(item, outcome, level);
        if (next !== null) for (const link of links) this.#takeLink(link, next);
      }
      yield this.#listing.takeSlice();
    }
  }

  #sliceSize({ url }: CrawlItem): number {
    const { intervalMs } = this.#options.client.pacerOf(url);
    return Math.min(Math.max(1, Math.floor(SLICE_MS / intervalMs)), CONNECTIONS_MAX);
  }

  async #read({ url, lastmod }: CrawlItem, signal: AbortSignal): Promise<PageOutcome> {
    const note = this.#options.known?.get(url.href) ?? null;
    if (note !== null && isFresh(note, lastmod)) return { kind: 'unchanged' };
    return getPage(this.#options, url, note, signal);
  }

  /** @throws SourceFault once a site has failed many times in a row */
  #noteFailure({ origin }: URL, outcome: PageOutcome): void {
    const isDown = outcome.kind === 'fault' && outcome.isDown;
    const count = isDown ? (this.#failures.get(origin) ?? 0) + 1 : 0;
    this.#failures.set(origin, count);
    if (!isDown || count < FAILURES_IN_ROW_MAX) return;
    throw new SourceFault(
      'source_unavailable',
      `the site ${origin} failed ${count} times in a row: ${outcome.fault}; check the site, or lower requests_per_second`,
      { retryable: true },
    );
  }

  /** Process the outcome of a page. @returns the addresses that it links to */
  #take(item: CrawlItem, outcome: PageOutcome, level: CrawlItem[]): readonly string[] {
    const { url } = item;
    const note = this.#options.known?.get(url.href) ?? null;
    switch (outcome.kind) {
      case 'page':
        return this.#takePage(item, outcome.page, note, level);
      case 'unchanged':
        return note === null ? [] : this.#takeUnchanged(item, note, level);
      case 'redirect':
        return this.#takeRedirect(item, outcome, note, level);
      case 'fault':
        if (item.isStart) this.#startProblem = noFirstPage.failed(url, outcome);
        if (item.isStart && outcome.status === 401) throw this.#startProblem;
        return this.#keep(url, note, outcome.fault);
      default:
        if (item.isStart) this.#startProblem = noFirstPage.absent(url, outcome);
        return [];
    }
  }

  #takePage(item: CrawlItem, page: GotPage, note: PageNote | null, level: CrawlItem[]): readonly string[] {
    const { url, lastmod } = item;
    const { rules } = page;
    const canonical = this.#canonicalOf(url, page);
    const key = rules.mayIndex ? canonical.href : null;
    const links = rules.mayFollow ? (page.facts?.links ?? []).flatMap((link) => this.#addressOf(link) ?? []) : [];
    const eventTimeMs = timeOf(page.lastModified) ?? timeOf(lastmod);
    const { content, etag, lastModified } = page;
    const { version, sizeBytes } = content;
    const about = { version, sizeBytes, eventTimeMs, etag, lastModified, lastmod, readAtMs: Date.now() };
    this.notes.set(url.href, { key, ...about, links });
    const isKnown = note?.key === key && note.version === version;
    if (isKnown || key === null) void content.body?.remove();
    if (key !== null) {
      const found = { url, content: isKnown ? null : content, eventTimeMs };
      this.#list(item, { key, version, sizeBytes, eventTimeMs }, found, level);
    }
    return links;
  }

  #takeUnchanged(item: CrawlItem, note: PageNote, level: CrawlItem[]): readonly string[] {
    const { url, lastmod } = item;
    const { key, version, sizeBytes, eventTimeMs, links } = note;
    this.notes.set(url.href, { ...note, lastmod: lastmod ?? note.lastmod });
    if (key !== null)
      this.#list(item, { key, version, sizeBytes, eventTimeMs }, { url, content: null, eventTimeMs }, level);
    return links;
  }

  #takeRedirect(
    { url, hops, isStart }: CrawlItem,
    { to, isPermanent }: Extract<PageOutcome, { kind: 'redirect' }>,
    note: PageNote | null,
    level: CrawlItem[],
  ): readonly string[] {
    const isInScope = to !== null && this.#options.scope.includes(to);
    if (isStart && !isInScope) this.#startProblem = noFirstPage.redirected(url, to);
    if (isInScope && hops < REDIRECTS_MAX) this.#takeTo(to, hops + 1, level);
    // A temporary redirect, for example to a login page, doesn't mean that the page is gone.
    if (isPermanent || note === null || note.key === null) return [];
    return this.#keep(
      url,
      note,
      `the site redirects it to ${to?.href ?? 'an address that cannot be requested'} temporarily`,
    );
  }

  /** Report an unreadable page. Keep its entry, and follow its known links. */
  #keep(url: URL, note: PageNote | null, fault: string): readonly string[] {
    this.#listing.addFault(url.origin, note?.key ?? url.href, fault);
    if (note !== null) this.notes.set(url.href, note);
    return note?.links ?? [];
  }

  /** Return a page's canonical URL, or its own URL if the canonical one is out of scope. */
  #canonicalOf(url: URL, { facts }: GotPage): URL {
    const canonical = facts?.canonical ?? url;
    return this.#options.scope.includes(canonical) && this.#mayRequest(canonical) ? canonical : url;
  }

  /** List an entry. Hold a page with a different canonical URL until that one has been tried. */
  #list({ url, hops }: CrawlItem, entry: ListedEntry, found: FoundPage, level: CrawlItem[]): void {
    const { key } = entry;
    if (key === url.href || hops >= REDIRECTS_MAX) {
      this.#listing.add(entry, found);
      return;
    }
    this.#listing.addVariant(entry, found);
    this.#takeTo(new URL(key), hops + 1, level);
  }

  #takeTo(url: URL, hops: number, level: CrawlItem[]): void {
    const item = this.#mayRequest(url) ? this.#frontier.takeLink(url, hops) : null;
    if (item !== null) level.push(item);
  }

  #takeLink(address: string, next: CrawlItem[]): void {
    const item = this.#frontier.has(address) ? null : this.#frontier.takeLink(new URL(address));
    if (item !== null && this.#mayRequest(item.url)) next.push(item);
  }

  /** Intern a link address; null if it is out of scope. */
  #addressOf(url: URL): string | null {
    const known = this.#addresses.get(url.href);
    if (known !== undefined) return known;
    if (!this.#options.scope.includes(url)) return null;
    this.#addresses.set(url.href, url.href);
    return url.href;
  }

  /** Return known pages that this crawl hasn't reached: possibly only failed pages link to them. */
  #unreached(): CrawlItem[] {
    const items: CrawlItem[] = [];
    for (const [address, { key }] of this.#options.known ?? []) {
      if (key !== null) this.#takeLink(address, items);
    }
    return items;
  }

  /** Report skipped pages. */
  #addRemarks(): void {
    const { config, scope } = this.#options;
    if (this.#listing.isCut) {
      const fault = `the source has reached its maximum of ${config.pages} pages; raise pages, or narrow the source with include and exclude`;
      this.#listing.addRemark(scope.starts[0]?.href ?? '', fault);
    }
    for (const pattern of [...this.#frontier.cut].slice(0, CUT_PATTERNS_MAX)) {
      const fault =
        'too many pages look like this, so the others are left out; exclude them, or list them in a sitemap';
      this.#listing.addRemark(pattern, fault);
    }
  }
}

/** Parse a date from a header or sitemap. */
function timeOf(date: string | null): number | null {
  const time = date === null ? Number.NaN : Date.parse(date);
  return Number.isNaN(time) ? null : time;
}
