import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';

const CHAIN_MAX = 32;
/** WordprocessingML names of OpenDocument number formats. */
const NUMBER_FORMATS: Readonly<Record<string, string>> = {
  a: 'lowerLetter',
  A: 'upperLetter',
  i: 'lowerRoman',
  I: 'upperRoman',
  '가, 나, 다, ...': 'ganada',
};

/** Numbering of a list level. */
export interface NumberedLevel {
  readonly start: number;
  readonly format: string;
  readonly prefix: string;
  readonly suffix: string;
}

/** Paragraph and list styles by name, both common and automatic. */
export class OdfStyles implements XmlHandler {
  readonly #parents = new Map<string, string>();
  /** Numbered levels of list styles, from 1. All other levels have a bullet. */
  readonly #numbered = new Map<string, Map<number, NumberedLevel>>();
  #list: Map<number, NumberedLevel> | null = null;

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'style:style') {
      const parent = attributes['style:parent-style-name'];
      const own = attributes['style:name'];
      if (own !== undefined && parent !== undefined) this.#parents.set(own, parent);
    } else if (name === 'text:list-style') {
      this.#list = new Map();
      this.#numbered.set(attributes['style:name'] ?? '', this.#list);
    } else if (name === 'text:list-level-style-number') {
      this.#list?.set(Number(attributes['text:level']), {
        start: Number(attributes['text:start-value'] ?? 1) || 0,
        format: NUMBER_FORMATS[attributes['style:num-format'] ?? ''] ?? 'decimal',
        prefix: attributes['style:num-prefix'] ?? '',
        suffix: attributes['style:num-suffix'] ?? '',
      });
    }
  }

  /** Return the numbering of a level, or null if it has a bullet. */
  numberedLevel(listStyle: string, level: number): NumberedLevel | null {
    return this.#numbered.get(listStyle)?.get(level) ?? null;
  }

  isCode(style: string): boolean {
    return this.#hasAncestor(style, (name) => name === 'Preformatted_20_Text');
  }

  isTitle(style: string): boolean {
    return this.#hasAncestor(style, (name) => name === 'Title');
  }

  #hasAncestor(style: string, isWanted: (name: string) => boolean): boolean {
    let at: string | undefined = style;
    for (let step = 0; at !== undefined && step < CHAIN_MAX; step++) {
      if (isWanted(at)) return true;
      at = this.#parents.get(at);
    }
    return false;
  }
}
