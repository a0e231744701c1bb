import type { BlockDraft } from '../blocks.ts';
import { readMarkdown } from '../read-markdown.ts';
import { readText } from '../read-text.ts';
import { wholeCharacters } from '../whole-characters.ts';
import type { JsonHandler } from './json-parser.ts';

/** Length of a block of output. */
const BLOCK_CHARS = 16 * 1024;
/** Maximum length of outputs held for the cell's source, which may follow. Longer ones are added before the source. */
const HELD_CHARS_MAX = 1024 * 1024;
/** Representations of an output, best first. */
const REPRESENTATIONS = ['text/markdown', 'text/plain', 'text', 'text/latex', 'latex', 'text/html', 'html'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins the codes of colours
const COLOUR = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Converter of a notebook's JSON events to blocks. A text is a string or an array of lines. */
export class NotebookCells implements JsonHandler {
  readonly #add: (block: BlockDraft) => void;
  /** Keys of the open objects; null for an array. */
  readonly #keys: Array<string | null> = [];
  #type = '';
  #level = 1;
  #source: string[] = [];
  /** Texts of the open output by representation. */
  readonly #output = new Map<string, string[]>();
  #outputs: string[] = [];
  #heldChars = 0;

  constructor(add: (block: BlockDraft) => void) {
    this.#add = add;
  }

  open(kind: 'object' | 'array'): void {
    this.#keys.push(kind === 'object' ? '' : null);
  }

  close(kind: 'object' | 'array'): void {
    this.#keys.pop();
    if (kind !== 'object') return;
    const path = this.#path();
    if (path === '') this.#endCell();
    else if (path === 'outputs') this.#endOutput();
  }

  key(key: string): void {
    this.#keys[this.#keys.length - 1] = key;
  }

  /** True for pictures, which are long strings without text. */
  get isIgnored(): boolean {
    const path = this.#path();
    return path === null || (path.startsWith('outputs.') && !this.#representation(path));
  }

  value(text: string, isString: boolean): void {
    const path = this.#path();
    if (path === 'level') this.#level = Number(text) || 1;
    if (path === null || !isString) return;
    if (path === 'cell_type') this.#type = text;
    else if (path === 'source' || path === 'input') this.#source.push(text);
    else if (path === 'outputs.ename' || path === 'outputs.evalue') this.#put('text', `${text}\n`);
    else {
      const representation = this.#representation(path);
      if (representation !== undefined) this.#put(representation, text);
    }
  }

  #put(representation: string, text: string): void {
    const parts = this.#output.get(representation) ?? [];
    parts.push(text);
    this.#output.set(representation, parts);
  }

  #representation(path: string): string | undefined {
    return REPRESENTATIONS.find((name) => path === `outputs.${name}` || path === `outputs.data.${name}`);
  }

  /** Return the keys below a cell, joined by dots; '' for a cell itself, null outside cells. */
  #path(): string | null {
    const keys = this.#keys.filter((key) => key !== null);
    const start = keys[0] === 'worksheets' ? 1 : 0;
    return keys[start] === 'cells' ? keys.slice(start + 1).join('.') : null;
  }

  #endOutput(): void {
    const best = REPRESENTATIONS.find((name) => this.#output.has(name));
    const text = best === undefined ? '' : (this.#output.get(best) ?? []).join('');
    this.#output.clear();
    const isHtml = best === 'html' || best === 'text/html';
    const plain = (isHtml ? text.replace(/<[^<>]*>/g, ' ') : text).replace(COLOUR, '');
    if (plain.trim() === '') return;
    this.#outputs.push(plain);
    this.#heldChars += plain.length;
    if (this.#heldChars <= HELD_CHARS_MAX) return;
    this.#addSource();
    this.#addOutputs();
  }

  #endCell(): void {
    this.#addSource();
    this.#addOutputs();
    this.#type = '';
    this.#level = 1;
  }

  /** Add the source as far as it is known, once. */
  #addSource(): void {
    if (this.#source.length === 0) return;
    const source = this.#source.join('');
    this.#source = [];
    if (this.#type === 'heading') this.#add({ kind: 'heading', level: Math.min(this.#level, 6), text: source });
    else if (this.#type === 'markdown') for (const block of readMarkdown(source)) this.#add(block);
    else if (this.#type === 'code') this.#add({ kind: 'code', text: source });
    else for (const block of readText(source)) this.#add(block);
  }

  #addOutputs(): void {
    for (const output of this.#outputs.splice(0)) {
      for (let at = 0; at < output.length; ) {
        const newline = output.lastIndexOf('\n', at + BLOCK_CHARS);
        const isLast = output.length - at <= BLOCK_CHARS;
        const end = isLast ? output.length : newline > at ? newline : wholeCharacters(output, at + BLOCK_CHARS, at);
        this.#add({ kind: 'code', text: output.slice(at, end) });
        at = end;
      }
    }
    this.#heldChars = 0;
  }
}
