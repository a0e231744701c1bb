import { type EntryFault, type ListedEntry, type Listing, longKeyFault } from '../source-reader.ts';
import type { PageContent } from './get-page.ts';

/** Location of an entry's content. */
export interface FoundPage {
  readonly url: URL;
  /** Content if this crawl has read it. */
  readonly content: PageContent | null;
  readonly eventTimeMs: number | null;
}

/** Page with a different canonical URL, held until it is known whether that URL can be read. */
interface Variant {
  readonly entry: ListedEntry;
  readonly found: FoundPage;
}

/** Entries and faults of a crawl, listed in slices. */
export class CrawlListing {
  readonly #pagesMax: number;
  readonly #hasNotes: boolean;
  readonly #found = new Map<string, FoundPage>();
  readonly #variants = new Map<string, Variant>();
  readonly #faultKeys = new Set<string>();
  #entries: ListedEntry[] = [];
  #faults: EntryFault[] = [];
  #isIncomplete = false;
  #isCut = false;

  /** @param hasNotes true if the notes of the previous crawl are available */
  constructor(options: { readonly pagesMax: number; readonly hasNotes: boolean }) {
    this.#pagesMax = options.pagesMax;
    this.#hasNotes = options.hasNotes;
  }

  get hasEntries(): boolean {
    return this.#found.size > 0 || this.#variants.size > 0;
  }

  /** True once the source has its maximum number of entries. */
  get isFull(): boolean {
    return this.#found.size >= this.#pagesMax;
  }

  /** True once a page was skipped for that reason. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** True once a page or sitemap couldn't be read, so that other pages may be missing. */
  get isIncomplete(): boolean {
    return this.#isIncomplete;
  }

  /** Return the location of a listed entry. */
  placeOf(key: string): FoundPage | null {
    return this.#found.get(key) ?? null;
  }

  /** List an entry unless it is already listed. */
  add(entry: ListedEntry, found: FoundPage): void {
    const { key } = entry;
    if (this.#found.has(key)) return;
    const fault = longKeyFault(key);
    if (fault !== null) this.#faults.push(fault);
    else if (this.isFull) this.cut();
    else {
      this.#found.set(key, found);
      this.#entries.push(entry);
    }
  }

  /** List an entry at the end, unless its canonical page is listed by then. */
  addVariant(entry: ListedEntry, found: FoundPage): void {
    if (!this.#variants.has(entry.key)) this.#variants.set(entry.key, { entry, found });
  }

  /** Record that a page was skipped because the source is full. */
  cut(): void {
    this.#isCut = true;
  }

  /** Report an unreadable page or sitemap. Its entry stays. */
  addFault(origin: string, key: string, fault: string): void {
    this.#isIncomplete = true;
    if (this.#hasNotes || this.#faultKeys.has(origin)) {
      this.#faults.push({ key: longKeyFault(key)?.key ?? key, fault });
    } else {
      // Without notes, it is unknown which entries only this page links to, so all entries of the site stay.
      this.#faults.push({ key: origin, isFolder: true, fault: `${key}: ${fault}` });
      this.#faultKeys.add(origin);
    }
    this.#faultKeys.add(key);
  }

  /** Report skipped pages. */
  addRemark(key: string, fault: string): void {
    this.#faults.push({ key, fault });
  }

  /** Return entries and faults added since the last call. */
  takeSlice(): Listing {
    const listing = { entries: this.#entries, faults: this.#faults };
    this.#entries = [];
    this.#faults = [];
    return listing;
  }

  /** List the held pages whose canonical URL has no page. */
  addRest(): void {
    for (const [key, { entry, found }] of this.#variants) if (!this.#faultKeys.has(key)) this.add(entry, found);
  }
}
