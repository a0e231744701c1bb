import { parseXml, type XmlAttributes, type XmlHandler } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import type { BlockDraft } from '../blocks.ts';
import { RowTable } from '../row-table.ts';
import { showNumber } from './xlsx-formats.ts';

/** Series of a chart: its name, and its texts by point number. */
interface Series {
  readonly name: string[];
  readonly categories: Map<number, string>;
  readonly values: Map<number, string>;
}

const POINTS_MAX = 100_000;
const CATEGORIES: ReadonlySet<string> = new Set(['c:cat', 'c:xVal']);
const VALUES: ReadonlySet<string> = new Set(['c:val', 'c:yVal']);

/**
 * Read a chart (ISO/IEC 29500-1, 21.2) from the source values that the file caches: its titles as a paragraph, and a
 * table with a row per category and a column per series.
 */
export async function readChart(zip: Zip, part: string): Promise<BlockDraft[]> {
  const chart = new Chart();
  await parseXml(zip.stream(part), chart);
  return chart.blocks();
}

class Chart implements XmlHandler {
  readonly #titles: string[] = [];
  readonly #series: Series[] = [];
  #current: Series | null = null;
  #title: string[] | null = null;
  /** Target of the points' texts: the name, the categories or the values of the current series. */
  #target: string[] | Map<number, string> | null = null;
  #point = 0;
  #points = 0;
  #pattern = 'General';
  #text: string[] | null = null;

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'c:title') this.#title = [];
    else if (name === 'c:ser') this.#openSeries();
    else if (name === 'c:tx' && this.#current !== null && this.#title === null) this.#target = this.#current.name;
    else if (CATEGORIES.has(name)) this.#target = this.#current?.categories ?? null;
    else if (VALUES.has(name)) this.#target = this.#current?.values ?? null;
    else if (name === 'c:strCache' || name === 'c:numCache' || name === 'c:numLit') this.#pattern = 'General';
    else if (name === 'c:pt') this.#point = Number(attributes['idx']) || 0;
    else if (name === 'a:t' || name === 'c:v' || name === 'c:formatCode') this.#text = [];
  }

  close(name: string): void {
    const text = this.#text?.join('') ?? '';
    if (name === 'a:t' || name === 'c:v' || name === 'c:formatCode') this.#text = null;
    if (name === 'c:formatCode') this.#pattern = text;
    else if (name === 'a:t' || (name === 'c:v' && this.#title !== null)) this.#title?.push(text);
    else if (name === 'c:v') this.#takePoint(text);
    else if (name === 'a:p') this.#title?.push(' ');
    else if (name === 'c:title') this.#endTitle();
    else if (name === 'c:tx' || CATEGORIES.has(name) || VALUES.has(name)) this.#target = null;
    else if (name === 'c:ser') this.#current = null;
  }

  text(text: string): void {
    this.#text?.push(text);
  }

  blocks(): BlockDraft[] {
    const blocks: BlockDraft[] = [];
    if (this.#titles.length > 0) blocks.push({ kind: 'paragraph', text: this.#titles.join('\n') });
    // Most series share their categories. One with its own starts a new table.
    let shared: Series[] = [];
    for (const series of this.#series) {
      if (shared[0] !== undefined && !hasSameCategories(shared[0], series)) {
        addTable(shared, blocks);
        shared = [];
      }
      shared.push(series);
    }
    addTable(shared, blocks);
    return blocks;
  }

  #openSeries(): void {
    this.#current = { name: [], categories: new Map(), values: new Map() };
    this.#series.push(this.#current);
  }

  #takePoint(text: string): void {
    if (this.#target === null || ++this.#points > POINTS_MAX) return;
    if (Array.isArray(this.#target)) {
      this.#target.push(text);
      return;
    }
    const shown = showNumber(text, this.#pattern);
    // Multi-level categories name the inner one first.
    const inner = this.#target.get(this.#point);
    this.#target.set(this.#point, inner === undefined ? shown : `${shown} ${inner}`);
  }

  #endTitle(): void {
    const title = this.#title?.join('').replace(/\s+/g, ' ').trim() ?? '';
    if (title !== '') this.#titles.push(title);
    this.#title = null;
  }
}

function hasSameCategories(one: Series, other: Series): boolean {
  if (one.categories.size !== other.categories.size) return false;
  return [...one.categories].every(([point, text]) => other.categories.get(point) === text);
}

function addTable(series: readonly Series[], blocks: BlockDraft[]): void {
  const table = new RowTable((block) => blocks.push(block));
  const names = series.map(({ name }) => name.join(' '));
  if (names.some((name) => name !== '')) table.addRow(['', ...names]);
  const points = new Set(series.flatMap(({ categories, values }) => [...categories.keys(), ...values.keys()]));
  for (const point of [...points].sort((one, other) => one - other)) {
    const category = series[0]?.categories.get(point) ?? '';
    table.addRow([category, ...series.map(({ values }) => values.get(point) ?? '')]);
  }
  table.end();
}
