import type { XmlAttributes, XmlHandler } from '../archive/xml.ts';
import { HancomNumbering, type ParagraphRole } from './hancom-numbering.ts';

const LEVELS_MAX = 10;

/** Collector of the paragraph shapes and numberings in the head of an OWPML document. */
export class HwpxHead implements XmlHandler {
  readonly roles = new Map<string, ParagraphRole>();
  readonly numbering = new HancomNumbering();
  #shape = '';
  #numbering = '';
  #level: { readonly level: number; readonly start: number; readonly format: string; text: string } | null = null;

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'hh:paraPr') this.#shape = attributes['id'] ?? '';
    else if (name === 'hh:heading') this.#setRole(attributes);
    else if (name === 'hh:numbering') this.#numbering = attributes['id'] ?? '';
    else if (name === 'hh:paraHead') {
      const start = Number(attributes['start'] ?? 1);
      this.#level = {
        level: levelOf(attributes['level'], 0),
        start: Number.isInteger(start) ? start : 1,
        format: attributes['numFormat'] ?? '',
        text: '',
      };
    }
  }

  text(text: string): void {
    if (this.#level !== null) this.#level.text = (this.#level.text + text).slice(0, 100);
  }

  close(name: string): void {
    if (name === 'hh:numbering') this.#numbering = '';
    if (name !== 'hh:paraHead' || this.#level === null) return;
    if (this.#numbering !== '') this.numbering.define(this.#numbering, this.#level.level, this.#level);
    this.#level = null;
  }

  #setRole(attributes: XmlAttributes): void {
    const level = levelOf(attributes['level'], 1);
    const type = (attributes['type'] ?? '').toUpperCase();
    if (type === 'OUTLINE') this.roles.set(this.#shape, { kind: 'outline', level });
    else if (type === 'BULLET') this.roles.set(this.#shape, { kind: 'bullet', level });
    else if (type === 'NUMBER')
      this.roles.set(this.#shape, { kind: 'number', level, numbering: attributes['idRef'] ?? '' });
  }
}

/** Return a level from 1; shapes count from 0, numberings from 1. */
function levelOf(value: string | undefined, first: 0 | 1): number {
  return Math.max(1, Math.min((Number(value) || 0) + first, LEVELS_MAX));
}
