import { type EntryFault, type ListedEntry, type Listing, longKeyFault } from '../source-reader.ts';
import type { PageContent } from './get-page.ts';

/** Place of an entry's content. */
export interface FoundPage {
  readonly url: URL;
  /** Content, if this crawl has read it. */
  readonly content: PageContent | null;
  readonly eventTimeMs: number | null;
}

/** Page that names another address as its own, until it is known if that one can be read. */
interface Variant {
  readonly entry: ListedEntry;
  readonly found: FoundPage;
}

/** Entries and faults of a crawl, which are listed in slices. */
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

  /** @param hasNotes true if the crawl knows the pages of the one before */
  constructor(options: { readonly pagesMax: number; readonly hasNotes: boolean }) {
    this.#pagesMax = options.pagesMax;
    this.#hasNotes = options.hasNotes;
  }

  get hasEntries(): boolean {
    return this.#found.size > 0 || this.#variants.size > 0;
  }

  /** True once the source has its maximum of entries. */
  get isFull(): boolean {
    return this.#found.size >= this.#pagesMax;
  }

  /** True once a page was left out because of that. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** True once a page or a sitemap could not be read, so that other pages may not have been found. */
  get isIncomplete(): boolean {
    return this.#isIncomplete;
  }

  /** Return the place of a listed entry. */
  placeOf(key: string): FoundPage | null {
    return this.#found.get(key) ?? null;
  }

  /** List an entry, unless it is listed. */
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

  /** List an entry at the end, unless the page of its own address is listed until then. */
  addVariant(entry: ListedEntry, found: FoundPage): void {
    if (!this.#variants.has(entry.key)) this.#variants.set(entry.key, { entry, found });
  }

  /** Note that a page is left out because the source is full. */
  cut(): void {
    this.#isCut = true;
  }

  /** Report a page or a sitemap that can't be read. Its entry stays. */
  addFault(origin: string, key: string, fault: string): void {
    this.#isIncomplete = true;
    if (this.#hasNotes || this.#faultKeys.has(origin)) {
      this.#faults.push({ key: longKeyFault(key)?.key ?? key, fault });
    } else {
      // Without notes, nobody knows which entries are only linked by this page, so that all of the site stay.
      this.#faults.push({ key: origin, isFolder: true, fault: `${key}: ${fault}` });
      this.#faultKeys.add(origin);
    }
    this.#faultKeys.add(key);
  }

  /** Report pages that are left out. */
  addRemark(key: string, fault: string): void {
    this.#faults.push({ key, fault });
  }

  /** Return what was added since the last call. */
  takeSlice(): Listing {
    const listing = { entries: this.#entries, faults: this.#faults };
    this.#entries = [];
    this.#faults = [];
    return listing;
  }

  /** List the pages whose own address has no page. */
  addRest(): void {
    for (const [key, { entry, found }] of this.#variants) if (!this.#faultKeys.has(key)) this.add(entry, found);
  }
}
