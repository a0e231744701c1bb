import type { BlockWriter } from '../block-writer.ts';
import type { Decoder } from '../encoding/decoder.ts';
import { openDecoder } from '../encoding/open-decoder.ts';
import { ExtractError } from '../errors.ts';
import { RtfDefinitions } from './rtf-definitions.ts';
import { type GroupState, KNOWN_DESTINATIONS, type ParagraphState, SKIPPED_DESTINATIONS } from './rtf-state.ts';
import type { RtfToken } from './rtf-tokens.ts';

const DEPTH_MAX = 10_000;
const HEADING_CHARS_MAX = 1_000;

/** Control words that represent a character. */
const CHARACTERS: Readonly<Record<string, string>> = {
  tab: ' ',
  line: '\n',
  page: '\n',
  '~': '\u00a0',
  _: '-',
  emdash: '\u2014',
  endash: '\u2013',
  emspace: ' ',
  enspace: ' ',
  qmspace: ' ',
  bullet: '\u2022',
  lquote: '\u2018',
  rquote: '\u2019',
  ldblquote: '\u201c',
  rdblquote: '\u201d',
};

const NEW_PARAGRAPH: ParagraphState = {
  style: null,
  outlineLevel: null,
  listLevel: 0,
  isInTable: false,
  tableDepth: 1,
};

/** Converter of RTF tokens to blocks. */
export class RtfBody {
  readonly #writer: BlockWriter;
  readonly #groups: GroupState[] = [];
  #group: GroupState = { destination: 'body', font: 0, isHidden: false, fallbackChars: 1 };
  #paragraph: ParagraphState = { ...NEW_PARAGRAPH };
  /** True at the start of a group, where the next word may name its destination. */
  #isAtStart = false;
  #isOptional = false;
  /** Number of characters still to skip after `\u`. */
  #skipChars = 0;

  readonly #definitions = new RtfDefinitions();
  readonly #decoders = new Map<string, Decoder>();
  #pendingBytes: Uint8Array[] = [];
  #text: string[] = [];
  #listText: string[] = [];
  #notes: string[] = [];
  #noteText: string[] = [];
  #tableDepth = 0;
  #hasTitle = false;

  constructor(writer: BlockWriter) {
    this.#writer = writer;
  }

  /** Process a token. Return false once the document has ended. */
  take(token: RtfToken): boolean {
    if (token.type === 'byte' || token.type === 'bytes') {
      this.#isAtStart = false;
      if (token.type === 'byte') this.#takeByte(token.byte);
      else this.#takeBytes(token.bytes);
      return true;
    }
    this.#decodePending();
    this.#skipChars = 0;
    if (token.type === 'open') {
      if (this.#groups.length >= DEPTH_MAX) throw new ExtractError('corrupt', 'the document is nested too deeply');
      this.#groups.push(this.#group);
      this.#group = { ...this.#group };
      this.#isAtStart = true;
      this.#isOptional = false;
    } else if (token.type === 'close') {
      return this.#closeGroup();
    } else {
      this.#takeWord(token.name, token.value);
    }
    return true;
  }

  /** Add the blocks that the file left open. */
  end(): void {
    this.#decodePending();
    this.#endParagraph();
    while (this.#tableDepth > 0) this.#closeTable();
    this.#addNotes();
  }

  #closeGroup(): boolean {
    const group = this.#groups.pop();
    if (group === undefined) return false;
    const { destination } = this.#group;
    if (destination === 'styles') this.#definitions.endStyle();
    if (destination === 'note' && group.destination !== 'note') {
      this.#notes.push(this.#noteText.join(''));
      this.#noteText = [];
    }
    this.#group = group;
    this.#isAtStart = false;
    return this.#groups.length > 0;
  }

  #takeByte(byte: number): void {
    if (this.#skipChars > 0) this.#skipChars--;
    else if (this.#group.destination !== 'skip') this.#pendingBytes.push(Uint8Array.of(byte));
  }

  #takeBytes(bytes: Uint8Array): void {
    const skipped = Math.min(this.#skipChars, bytes.length);
    this.#skipChars -= skipped;
    if (this.#group.destination === 'skip') return;
    this.#pendingBytes.push(bytes.subarray(skipped));
  }

  /** Decode pending bytes together, since a character may consist of both codes and letters. */
  #decodePending(): void {
    if (this.#pendingBytes.length === 0) return;
    const label = this.#definitions.encodingOf(this.#group.font);
    let decoder = this.#decoders.get(label);
    if (decoder === undefined) {
      decoder = openDecoder(label) ?? new TextDecoder('windows-1252');
      this.#decoders.set(label, decoder);
    }
    const text = decoder.decode(Buffer.concat(this.#pendingBytes));
    this.#pendingBytes = [];
    this.#put(text);
  }

  #put(text: string): void {
    const { destination, isHidden } = this.#group;
    if (destination === 'styles') this.#definitions.takeStyleText(text);
    if (isHidden) return;
    if (destination === 'body') this.#text.push(text);
    else if (destination === 'listtext') this.#listText.push(text);
    else if (destination === 'note') this.#noteText.push(text);
  }

  #takeWord(name: string, value: number | null): void {
    if (name === '*') {
      this.#isOptional = true;
      return;
    }
    if (this.#isAtStart) {
      this.#isAtStart = false;
      if (this.#openDestination(name)) return;
    }
    const character = CHARACTERS[name];
    if (character !== undefined) this.#put(character);
    else if (name === 'u') this.#putUnicode(value ?? 0);
    else if (name === 'uc') this.#group.fallbackChars = Math.min(Math.max(value ?? 1, 0), 100);
    else if (name === 'v' || name === 'deleted') this.#group.isHidden = value !== 0;
    else if (name === 'plain') Object.assign(this.#group, { isHidden: false, font: this.#definitions.defaultFont });
    else if (this.#group.destination === 'fonts') this.#definitions.takeFontWord(name, value ?? 0);
    else if (this.#group.destination === 'styles') this.#definitions.takeStyleWord(name, value ?? 0);
    else if (name === 'f') this.#group.font = value ?? 0;
    else if (this.#group.destination === 'body') this.#takeParagraphWord(name, value);
    else if (name === 'par') this.#put(' ');
    else this.#definitions.takeDocumentWord(name, value ?? 0);
  }

  /** Set a group's destination by its first word. Return true if the word names a destination. */
  #openDestination(name: string): boolean {
    const group = this.#group;
    const isOptional = this.#isOptional;
    this.#isOptional = false;
    if (group.destination === 'skip') return true;
    if (name === 'fonttbl') group.destination = 'fonts';
    else if (name === 'stylesheet') group.destination = 'styles';
    else if (name === 'listtext' || name === 'pntext') group.destination = 'listtext';
    else if (name === 'footnote') group.destination = 'note';
    else if (SKIPPED_DESTINATIONS.has(name)) group.destination = 'skip';
    else if (isOptional && !KNOWN_DESTINATIONS.has(name) && group.destination !== 'styles') group.destination = 'skip';
    else return KNOWN_DESTINATIONS.has(name);
    return true;
  }

  /** Add a character given as a signed 16-bit number; supplementary characters are given as two surrogates. */
  #putUnicode(value: number): void {
    this.#put(String.fromCharCode(value & 0xffff));
    this.#skipChars = this.#group.fallbackChars;
  }

  #takeParagraphWord(name: string, value: number | null): void {
    const paragraph = this.#paragraph;
    switch (name) {
      case 'pard':
        this.#paragraph = { ...NEW_PARAGRAPH };
        break;
      case 's':
        paragraph.style = value;
        break;
      case 'outlinelevel':
        paragraph.outlineLevel = value;
        break;
      case 'ilvl':
        paragraph.listLevel = Math.min(Math.max(value ?? 0, 0), 8);
        break;
      case 'intbl':
        paragraph.isInTable = true;
        break;
      case 'itap':
        paragraph.tableDepth = Math.max(value ?? 0, 0);
        paragraph.isInTable = paragraph.tableDepth > 0;
        break;
      case 'par':
      case 'sect':
        this.#endParagraph();
        break;
      case 'cell':
      case 'nestcell':
        this.#endParagraph(true);
        this.#writer.closeCell();
        break;
      case 'row':
      case 'nestrow':
        this.#writer.closeRow();
        break;
      default:
        this.#definitions.takeDocumentWord(name, value ?? 0);
    }
  }

  #endParagraph(isCell = false): void {
    const text = this.#text.join('');
    const label = this.#listText.join('').trim();
    this.#text = [];
    this.#listText = [];
    const depth = isCell || this.#paragraph.isInTable ? Math.max(this.#paragraph.tableDepth, 1) : 0;
    while (this.#tableDepth > depth && (text.trim() !== '' || depth > 0)) this.#closeTable();
    while (this.#tableDepth < Math.min(depth, 100)) this.#openTable();
    if (this.#definitions.isCode(this.#paragraph.style)) {
      this.#writer.add({ kind: 'code', text });
      return;
    }
    if (text.trim() === '') return;
    const level = this.#headingLevel(text);
    if (level !== null) {
      this.#writer.add({ kind: 'heading', level, text: `${label} ${text}`.replace(/\s+/g, ' ').trim() });
    } else if (label !== '') {
      // Bullets are usually letters of a symbol font.
      const bullet = /[\p{L}\p{N}]/u.test(label) && label.length > 1 ? label : '-';
      this.#writer.add({ kind: 'list_item', level: this.#paragraph.listLevel + 1, text: `${bullet} ${text.trim()}` });
    } else {
      this.#writer.add({ kind: 'paragraph', text });
    }
    this.#addNotes();
  }

  /** Return a heading's level, one lower once a title has been read; null for other paragraphs. */
  #headingLevel(text: string): number | null {
    const { outlineLevel, style } = this.#paragraph;
    if (text.length > HEADING_CHARS_MAX) return null;
    const level = outlineLevel ?? this.#definitions.outlineLevelOf(style);
    if (level !== null && level >= 0 && level <= 8) return level + (this.#hasTitle ? 2 : 1);
    if (!this.#definitions.isTitle(style)) return null;
    this.#hasTitle = true;
    return 1;
  }

  #openTable(): void {
    this.#tableDepth++;
    this.#writer.openTable();
  }

  #closeTable(): void {
    this.#tableDepth--;
    this.#writer.closeTable();
  }

  #addNotes(): void {
    if (this.#writer.isInTable) return;
    for (const text of this.#notes.splice(0)) this.#writer.add({ kind: 'paragraph', text });
  }
}
