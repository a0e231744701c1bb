import { formatNumber } from '../office/list-numbers.ts';

/** Role of the paragraphs with a paragraph shape. `level` is from 1. */
export interface ParagraphRole {
  readonly kind: 'outline' | 'number' | 'bullet';
  readonly level: number;
  /** Numbering of a numbered paragraph. An outline uses that of its section. */
  readonly numbering?: string;
}

/** Level of a numbering. */
export interface NumberingLevel {
  readonly start: number;
  /** Name in HWPML or OWPML, such as `HangulSyllable` or `HANGUL_SYLLABLE`. */
  readonly format: string;
  /** Pattern such as `^1.^2)`, where `^1` is the number at the first level. */
  readonly text: string;
}

/** WordprocessingML formats by lowercase OWPML name. Other numbers are written in digits. */
const FORMATS: Readonly<Record<string, string>> = {
  circleddigit: 'decimalEnclosedCircle',
  romancapital: 'upperRoman',
  romansmall: 'lowerRoman',
  latincapital: 'upperLetter',
  latinsmall: 'lowerLetter',
  hangulsyllable: 'ganada',
  hanguljamo: 'chosung',
  hangulphonetic: 'koreanDigital',
  ideograph: 'ideographDigital',
  circledlatincapital: 'circledUpper',
  circledlatinsmall: 'circledLower',
  circledhangulsyllable: 'circledGanada',
  circledhanguljamo: 'circledChosung',
  circledideograph: 'circledIdeograph',
};

/** Format names by their number in HWP. */
export const FORMAT_NAMES = [
  'Digit',
  'CircledDigit',
  'RomanCapital',
  'RomanSmall',
  'LatinCapital',
  'LatinSmall',
  'CircledLatinCapital',
  'CircledLatinSmall',
  'HangulSyllable',
  'CircledHangulSyllable',
  'HangulJamo',
  'CircledHangulJamo',
  'HangulPhonetic',
  'Ideograph',
  'CircledIdeograph',
] as const;

/** Counter of paragraph numbers, which Hancom documents don't store. It continues through all sections. */
export class HancomNumbering {
  readonly #levels = new Map<string, Map<number, NumberingLevel>>();
  /** Last number of each level per numbering; index 0 is the first level. */
  readonly #counters = new Map<string, number[]>();
  /** Outline numbering of the current section. */
  outline = '1';

  define(numbering: string, level: number, definition: NumberingLevel): void {
    const levels = this.#levels.get(numbering) ?? new Map<number, NumberingLevel>();
    this.#levels.set(numbering, levels.set(level, definition));
  }

  /** Count a paragraph and return its number, or null if it has none. Deeper levels restart. */
  labelOf(role: ParagraphRole): string | null {
    if (role.kind === 'bullet') return null;
    const id = role.kind === 'outline' ? this.outline : (role.numbering ?? '');
    const levels = this.#levels.get(id);
    if (levels === undefined) return null;
    const counters = this.#counters.get(id) ?? [];
    this.#counters.set(id, counters);
    const startOf = (level: number) => levels.get(level)?.start ?? 1;
    for (let level = 1; level < role.level; level++) counters[level - 1] ??= startOf(level);
    counters[role.level - 1] = (counters[role.level - 1] ?? startOf(role.level) - 1) + 1;
    counters.length = role.level;
    const numberOf = (level: number) =>
      formatNumber(
        counters[level - 1] ?? startOf(level),
        FORMATS[(levels.get(level)?.format ?? '').replaceAll('_', '').toLowerCase()] ?? 'decimal',
      );
    const label = (levels.get(role.level)?.text ?? '').replace(/\^(10|[1-9nN])/g, (_, mark: string) => {
      if (/\d/.test(mark)) return Number(mark) <= role.level ? numberOf(Number(mark)) : '';
      const path = counters.map((_, index) => numberOf(index + 1)).join('.');
      return mark === 'n' ? path : `${path}.`;
    });
    return label.trim() === '' ? null : label.trim();
  }
}
