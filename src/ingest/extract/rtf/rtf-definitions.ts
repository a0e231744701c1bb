import { isCodeStyle } from '../code-style.ts';
import { labelOfCodePage } from '../encoding/code-pages.ts';
import { labelOfCharset } from './rtf-charsets.ts';

const DEFAULT_ENCODING = 'windows-1252';

/** Definitions in an RTF file's header: the encoding of its bytes, per font, and its paragraph styles. */
export class RtfDefinitions {
  defaultFont = 0;
  #encoding = DEFAULT_ENCODING;
  readonly #fontEncodings = new Map<number, string>();
  #font = 0;
  readonly #outlineLevels = new Map<number, number>();
  readonly #titles = new Set<number>();
  readonly #code = new Set<number>();
  /** Number of the current style definition; null if it isn't a paragraph style. */
  #style: number | null = null;
  #styleName = '';

  /** Return the WHATWG label of the encoding of text in a font. */
  encodingOf(font: number): string {
    return this.#fontEncodings.get(font) ?? this.#encoding;
  }

  /** Return a style's outline level, 0..8; null for body text. */
  outlineLevelOf(style: number | null): number | null {
    return style === null ? null : (this.#outlineLevels.get(style) ?? null);
  }

  isTitle(style: number | null): boolean {
    return style !== null && this.#titles.has(style);
  }

  isCode(style: number | null): boolean {
    return style !== null && this.#code.has(style);
  }

  takeDocumentWord(name: string, value: number): void {
    if (name === 'ansicpg') this.#encoding = labelOfCodePage(value) ?? DEFAULT_ENCODING;
    else if (name === 'mac') this.#encoding = 'macintosh';
    else if (name === 'pc') this.#encoding = 'cp437';
    else if (name === 'pca') this.#encoding = 'cp850';
    else if (name === 'deff') this.defaultFont = value;
  }

  takeFontWord(name: string, value: number): void {
    if (name === 'f') this.#font = value;
    const label = name === 'fcharset' ? labelOfCharset(value) : name === 'cpg' ? labelOfCodePage(value) : null;
    if (label !== null) this.#fontEncodings.set(this.#font, label);
  }

  takeStyleWord(name: string, value: number): void {
    if (name === 's') this.#style = value;
    else if (name === 'outlinelevel' && this.#style !== null) this.#outlineLevels.set(this.#style, value);
  }

  takeStyleText(text: string): void {
    this.#styleName += text;
  }

  /** End a style definition. Recognise built-in styles by name, which is never translated. */
  endStyle(): void {
    const name = this.#styleName.replace(/;\s*$/, '').trim();
    const level = /^heading ([1-9])$/i.exec(name)?.[1];
    if (this.#style !== null) {
      if (level !== undefined) this.#outlineLevels.set(this.#style, Number(level) - 1);
      if (/^title$/i.test(name)) this.#titles.add(this.#style);
      if (isCodeStyle(name)) this.#code.add(this.#style);
    }
    this.#styleName = '';
    this.#style = null;
  }
}
