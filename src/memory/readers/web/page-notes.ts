import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createGzip, gunzip } from 'node:zlib';
import { z } from 'zod';
import type { ReaderState } from '../source-reader.ts';

const unzip = promisify(gunzip);

/** First line of stored notes. Notes of other formats are ignored. */
const HEAD = '{"form":1}';
/** Maximum uncompressed size of stored notes. */
const TEXT_BYTES_MAX = 256 * 1024 * 1024;
const LINES_PER_TURN = 200;
/** Maximum number of stored links in all pages. */
const LINKS_MAX = 2_000_000;
/** Fields of pages beyond that limit, which the next crawl reads in full. */
const WITHOUT_LINKS = { etag: null, lastModified: null, lastmod: null, links: [] };
const ADDRESSES_PER_LINE = 1_000;

/** Facts about a page that save the next crawl from reading it. */
export interface PageNote {
  /** Key of the page's entry; null if it has none. */
  readonly key: string | null;
  readonly version: string;
  readonly sizeBytes: number;
  readonly eventTimeMs: number | null;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** Text of `lastmod` in the sitemap. */
  readonly lastmod: string | null;
  /** Time of the last request. */
  readonly readAtMs: number;
  /** Link addresses within the scope of the source. */
  readonly links: readonly string[];
}

/** Notes by page address. */
export type PageNotes = Map<string, PageNote>;

const Line = z.union([
  z.object({ addresses: z.array(z.string()) }),
  z.object({
    page: z.number(),
    key: z.string().nullable(),
    version: z.string(),
    sizeBytes: z.number(),
    eventTimeMs: z.number().nullable(),
    etag: z.string().nullable(),
    lastModified: z.string().nullable(),
    lastmod: z.string().nullable(),
    readAtMs: z.number(),
    links: z.array(z.number()),
  }),
]);

/** Load the notes of the last crawl. Return null if there are none or they are unusable. */
export async function loadNotes(state: ReaderState): Promise<PageNotes | null> {
  const stored = await state.load();
  if (stored === null) return null;
  try {
    const text = (await unzip(stored, { maxOutputLength: TEXT_BYTES_MAX })).toString('utf8');
    return await parseNotes(text);
  } catch {
    return null;
  }
}

async function parseNotes(text: string): Promise<PageNotes | null> {
  const notes: PageNotes = new Map();
  const addresses: string[] = [];
  const [first = '', ...lines] = text.trimEnd().split('\n');
  if (first !== HEAD) return null;
  for (const [index, row] of lines.entries()) {
    // Yield to other work of the process.
    if (index % LINES_PER_TURN === 0) await setImmediate();
    const line = Line.parse(JSON.parse(row));
    if ('addresses' in line) addresses.push(...line.addresses);
    else {
      const { page, links, ...note } = line;
      notes.set(addresses[page] as string, { ...note, links: links.map((place) => addresses[place] as string) });
    }
  }
  return notes;
}

/** Save the notes of a crawl as gzipped lines of JSON. */
export async function saveNotes(state: ReaderState, notes: PageNotes): Promise<void> {
  await state.save(await buffer(Readable.from(linesOf(notes)).pipe(createGzip())));
}

/** Render the notes as lines: the format, then addresses, then pages, which refer to addresses by index. */
function* linesOf(notes: PageNotes): Generator<string> {
  yield `${HEAD}\n`;
  const places = new Map<string, number>();
  let added: string[] = [];
  const placeOf = (address: string) => {
    const place = places.get(address) ?? places.size;
    if (place === places.size) {
      places.set(address, place);
      added.push(address);
    }
    return place;
  };
  let links = 0;
  for (const [address, note] of notes) {
    links += note.links.length;
    const kept = links > LINKS_MAX ? { ...note, ...WITHOUT_LINKS } : note;
    const page = { page: placeOf(address), ...kept, links: kept.links.map(placeOf) };
    for (; added.length > 0; added = added.slice(ADDRESSES_PER_LINE)) {
      yield `${JSON.stringify({ addresses: added.slice(0, ADDRESSES_PER_LINE) })}\n`;
    }
    yield `${JSON.stringify(page)}\n`;
  }
}
