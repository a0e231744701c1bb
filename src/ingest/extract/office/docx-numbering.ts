import { parseXml, type XmlAttributes } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { formatNumber } from './list-numbers.ts';

interface Level {
  start: number;
  /** Value of `w:numFmt`, such as `decimal`, `bullet` or `ganada`. */
  format: string;
  /** Pattern such as `%1.%2`, where `%1` is the number at the first level. */
  text: string;
  /** True if all numbers in the label are written as digits. */
  isLegal: boolean;
}

interface List {
  abstractId: string;
  readonly startOverrides: Map<number, number>;
}

const LEVELS_MAX = 9;

/** Counter of list item and heading numbers, which the file doesn't store (ISO/IEC 29500-1, 17.9). */
export class DocxNumbering {
  readonly #levels = new Map<string, Level[]>();
  readonly #lists = new Map<string, List>();
  readonly #counters = new Map<string, Array<number | undefined>>();
  readonly #started = new Set<string>();

  static async read(zip: Zip, part: string | null): Promise<DocxNumbering> {
    const numbering = new DocxNumbering();
    if (part !== null && zip.has(part)) await numbering.#read(zip, part);
    return numbering;
  }

  /** Count a list's next item and return its label, such as `- `, `3. ` or `1.2 `; null if the list doesn't exist. */
  labelOf(numId: string, level: number): string | null {
    const list = this.#lists.get(numId);
    const levels = this.#levels.get(list?.abstractId ?? '');
    const own = levels?.[level];
    if (list === undefined || levels === undefined || own === undefined) return null;
    if (own.format === 'bullet') return '- ';
    const counters = this.#counters.get(list.abstractId) ?? [];
    this.#counters.set(list.abstractId, counters);
    const override = list.startOverrides.get(level);
    const key = `${numId} ${level}`;
    if (override !== undefined && !this.#started.has(key)) counters[level] = override;
    else counters[level] = (counters[level] ?? own.start - 1) + 1;
    this.#started.add(key);
    counters.length = level + 1;
    if (own.format === 'none' && !own.text.includes('%')) return own.text === '' ? '' : `${own.text} `;
    const label = own.text.replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1;
      const other = levels[at];
      if (other === undefined || at > level) return '';
      return formatNumber(counters[at] ?? other.start, own.isLegal ? 'decimal' : other.format);
    });
    return label === '' ? '' : `${label} `;
  }

  async #read(zip: Zip, part: string): Promise<void> {
    let levels: Level[] = [];
    let level: Level | null = null;
    let list: List | null = null;
    let overridden = 0;
    await parseXml(zip.stream(part), {
      open: (name, attributes) => {
        if (name === 'w:abstractNum') {
          levels = [];
          this.#levels.set(attributes['w:abstractNumId'] ?? '', levels);
        } else if (name === 'w:num') {
          level = null;
          list = null;
          overridden = 0;
          // Completed by its first child, `w:abstractNumId`.
          list = { abstractId: '', startOverrides: new Map() };
          this.#lists.set(attributes['w:numId'] ?? '', list);
        } else if (name === 'w:abstractNumId' && list !== null) {
          list.abstractId = attributes['w:val'] ?? '';
        } else if (name === 'w:lvlOverride') {
          overridden = levelNumber(attributes);
        } else if (name === 'w:startOverride') {
          list?.startOverrides.set(overridden, Number(attributes['w:val']) || 0);
        } else if (name === 'w:lvl' && list === null) {
          level = { start: 1, format: 'decimal', text: '', isLegal: false };
          levels[levelNumber(attributes)] = level;
        } else if (level !== null && list === null) {
          takeProperty(level, name, attributes);
        }
      },
    });
  }
}

function levelNumber(attributes: XmlAttributes): number {
  const level = Number(attributes['w:ilvl']);
  return Number.isInteger(level) && level >= 0 && level < LEVELS_MAX ? level : 0;
}

function takeProperty(level: Level, name: string, attributes: XmlAttributes): void {
  const value = attributes['w:val'] ?? '';
  if (name === 'w:start') level.start = Number(value) || 0;
  else if (name === 'w:numFmt') level.format = value;
  else if (name === 'w:lvlText') level.text = value.slice(0, 100);
  else if (name === 'w:isLgl') level.isLegal = value !== '0' && value !== 'false';
}
