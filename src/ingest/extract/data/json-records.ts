import type { BlockDraft } from '../blocks.ts';
import type { JsonHandler } from './json-parser.ts';

/** Length above which a string is prose and becomes its own paragraph, as does any multi-line string. */
const PROSE_CHARS = 1_000;
/** Maximum length of a record written as one line. */
const LINE_CHARS_MAX = 2_000;
const BLOCK_CHARS = 16 * 1024;
/** Maximum nesting of records. Elements of an array within an object are records; elements of deeper arrays are not. */
const RECORD_DEPTH_MAX = 2;
const LIST_CHARS_MAX = 1_000;

interface Container {
  readonly kind: 'object' | 'array';
  /** Keys from the root to this container, joined by dots. Elements of an array share its path. */
  readonly path: string;
  readonly isRecord: boolean;
  key: string;
}

/** Converter of JSON events to blocks. */
export class JsonRecords implements JsonHandler {
  readonly #add: (block: BlockDraft) => void;
  readonly #isSequence: boolean;
  readonly #stack: Container[] = [];
  /** Lines of the open record. */
  #lines: string[] = [];
  #lineChars = 0;
  #recordIsCut = false;
  /** Short records, one line each. */
  #records: string[] = [];
  #recordChars = 0;
  /** Scalars of an array, which share a line. */
  #list: string[] = [];
  #listChars = 0;
  #listPath = '';

  /** @param isSequence true if the file is a sequence of values, each of which is a record */
  constructor(add: (block: BlockDraft) => void, isSequence: boolean) {
    this.#add = add;
    this.#isSequence = isSequence;
  }

  open(kind: 'object' | 'array'): void {
    this.#endList();
    const parent = this.#stack.at(-1);
    const isElement = parent?.kind === 'array';
    const isRecord =
      (isElement || (parent === undefined && kind === 'object')) && this.#stack.length <= RECORD_DEPTH_MAX;
    if (isRecord) this.#endRecord();
    this.#stack.push({ kind, path: this.#path(), isRecord, key: '' });
  }

  close(): void {
    this.#endList();
    const closed = this.#stack.pop();
    if (closed?.isRecord || this.#stack.length === 0) this.#endRecord(this.#stack.length > 0 || this.#isSequence);
  }

  key(key: string): void {
    this.#endList();
    const container = this.#stack.at(-1);
    if (container !== undefined) container.key = key.replace(/\s+/g, ' ').slice(0, 200);
  }

  value(text: string, isString: boolean): void {
    if (text === 'null' && !isString) return;
    const isProse = text.length > PROSE_CHARS || text.includes('\n');
    const path = this.#path();
    if (this.#stack.at(-1)?.kind === 'array' && !isProse) {
      this.#addToList(path, text);
    } else if (isProse) {
      this.#endList();
      this.#endLines();
      this.#add({ kind: 'paragraph', text: labelled(path, text) });
    } else {
      this.#addLine(labelled(path, text.trim()));
    }
    if (this.#stack.length === 0) this.#endRecord();
  }

  end(): void {
    this.#endList();
    this.#endRecord();
    this.#endRecords();
  }

  #path(): string {
    const container = this.#stack.at(-1);
    if (container === undefined) return '';
    if (container.kind === 'array') return container.path;
    return container.path === '' ? container.key : `${container.path}.${container.key}`;
  }

  #addToList(path: string, text: string): void {
    if (this.#list.length > 0 && this.#listChars + text.length > LIST_CHARS_MAX) this.#endList();
    this.#listPath = path;
    this.#list.push(text.trim());
    this.#listChars += text.length + 2;
  }

  #endList(): void {
    if (this.#list.length === 0) return;
    const line = labelled(this.#listPath, this.#list.join(', '));
    this.#list = [];
    this.#listChars = 0;
    this.#addLine(line);
  }

  #addLine(line: string): void {
    this.#lines.push(line);
    this.#lineChars += line.length + 3;
    if (this.#lineChars < BLOCK_CHARS) return;
    this.#endLines();
  }

  /** Add the lines so far of a record that is too long for one line. */
  #endLines(): void {
    this.#recordIsCut = true;
    this.#endRecords();
    if (this.#lines.length > 0) this.#add({ kind: 'table', text: this.#lines.join('\n') });
    this.#lines = [];
    this.#lineChars = 0;
  }

  /** @param mayShareBlock true for one of many records: several short ones share a block */
  #endRecord(mayShareBlock = true): void {
    if (this.#lines.length > 0) {
      if (this.#recordIsCut || !mayShareBlock || this.#lineChars > LINE_CHARS_MAX) {
        this.#endLines();
      } else {
        this.#records.push(this.#lines.join(' | '));
        this.#recordChars += this.#lineChars;
        this.#lines = [];
        this.#lineChars = 0;
        if (this.#recordChars >= BLOCK_CHARS) this.#endRecords();
      }
    }
    this.#recordIsCut = false;
  }

  #endRecords(): void {
    if (this.#records.length > 0) this.#add({ kind: 'table', text: this.#records.join('\n') });
    this.#records = [];
    this.#recordChars = 0;
  }
}

function labelled(path: string, text: string): string {
  return path === '' ? text : `${path}: ${text}`;
}
