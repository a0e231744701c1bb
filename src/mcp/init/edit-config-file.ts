import {
  applyEdits,
  createScanner,
  getNodeValue,
  modify,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { type AppError, conflict } from '../../platform/errors.ts';
import { isPlaceholder, type Section } from './clients.ts';

const BYTE_ORDER_MARK = '\ufeff';
/** Fields of an entry by transport. Those of the other transport are removed, because they would contradict it. */
const STDIO_FIELDS = ['command', 'args', 'env'];
const HTTP_FIELDS = ['type', 'url', 'headers'];

/** Entry of a client's file. */
export interface ConfigEdit {
  readonly section: Section;
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

/**
 * Insert an entry into the text of a client's configuration. Preserve everything else byte for byte: other servers,
 * comments, key order, and the user's additions to the entry itself.
 * @throws AppError `config_file_broken` (409) for an invalid configuration, which the user has to repair
 */
export function editConfigText(text: string, { section: key, name, entry }: ConfigEdit): string {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  let body = text.slice(mark.length);
  if (body.trim() === '') body = '{}\n';
  const root = parse(body);
  const section = childOf(root, key);
  if (section !== null && section.type !== 'object') throw broken(`"${key}" is not an object`);
  const before = section && childOf(section, name);
  if (before !== null && before.type !== 'object') throw broken(`"${key}.${name}" is not an object`);
  const style = styleOf(body);
  if (section === null) return mark + insertProperty(body, root, key, { [name]: entry }, style);
  if (before === null) return mark + insertProperty(body, section, name, entry, style);
  const edits: ((text: string, place: Node) => string)[] = staleFields(entry)
    .filter((field) => childOf(before, field) !== null)
    .map((field) => (text) => applyEdits(text, modify(text, [key, name, field], undefined, {})));
  for (const [field, value] of Object.entries(entry)) {
    const present = childOf(before, field);
    if (!isRecord(value) || present?.type !== 'object') {
      edits.push((text, place) => setProperty(text, place, field, value, style));
      continue;
    }
    for (const [inner, item] of Object.entries(value)) {
      if (keeps(present, inner, item)) continue;
      edits.push((text, place) => setProperty(text, childOf(place, field) as Node, inner, item, style));
    }
  }
  // Every edit shifts the text after it, so parse again before each edit.
  for (const edit of edits) body = edit(body, childOf(childOf(parse(body), key) as Node, name) as Node);
  return mark + body;
}

/** List the fields that would contradict an entry: the other transport's fields, and headers with a token. */
function staleFields(entry: ConfigEdit['entry']): string[] {
  const others = 'url' in entry ? [...STDIO_FIELDS, 'headers'] : HTTP_FIELDS;
  return others.filter((field) => !(field in entry));
}

/** Replace the value of a key, or add the key. Don't touch an equal value. */
function setProperty(text: string, object: Node, key: string, value: unknown, style: Style): string {
  const present = childOf(object, key);
  if (present === null) return insertProperty(text, object, key, value, style);
  if (JSON.stringify(getNodeValue(present)) === JSON.stringify(value)) return text;
  const end = present.offset + present.length;
  return text.slice(0, present.offset) + render(value, indentAt(text, present.offset), style) + text.slice(end);
}

/** Add a key at the end of an object, on its own line. Keep comments next to the text that they belong to. */
function insertProperty(text: string, object: Node, key: string, value: unknown, style: Style): string {
  const base = indentAt(text, object.offset);
  const brace = object.offset + object.length - 1;
  const property = `${base}${style.unit}${JSON.stringify(key)}: ${render(value, base + style.unit, style)}`;
  const last = object.children?.at(-1);
  const lastEnd = last === undefined ? object.offset + 1 : last.offset + last.length;
  const needsComma = last !== undefined && !isFollowedByComma(text, lastEnd);
  const between = text.slice(lastEnd, brace).trimEnd();
  const trailing = last !== undefined && !needsComma ? ',' : '';
  return (
    text.slice(0, lastEnd) +
    (needsComma ? ',' : '') +
    between +
    style.eol +
    property +
    trailing +
    style.eol +
    base +
    text.slice(brace)
  );
}

function isFollowedByComma(text: string, offset: number): boolean {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  return scanner.getTokenValue() === ',';
}

function render(value: unknown, indent: string, { unit, eol }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', eol + indent);
}

/** Return the indentation of the line that contains an offset. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

/** Return true if the file's value must be kept, because the new value is only a placeholder. */
function keeps(present: Node, key: string, value: unknown): boolean {
  return isPlaceholder(value) && childOf(present, key) !== null;
}

function parse(body: string): Node {
  const errors: ParseError[] = [];
  const root = parseTree(body, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const lines = body.slice(0, error.offset).split('\n');
    const column = (lines.at(-1)?.length ?? 0) + 1;
    throw broken(`line ${lines.length}, column ${column}: ${printParseErrorCode(error.error)}`);
  }
  if (root?.type !== 'object') throw broken('it is not an object');
  return root;
}

/** Find the value of a key; null if there is none. Refuse duplicate keys. */
function childOf(object: Node, key: string): Node | null {
  const found = (object.children ?? []).filter((property) => property.children?.[0]?.value === key);
  if (found.length > 1) throw broken(`it has the key "${key}" twice`);
  return found[0]?.children?.[1] ?? null;
}

interface Style {
  /** Indentation of one level. */
  readonly unit: string;
  readonly eol: string;
}

/** Detect the indentation and line endings of a file. */
function styleOf(body: string): Style {
  return { unit: /\n([ \t]+)\S/.exec(body)?.[1] ?? '  ', eol: body.includes('\r\n') ? '\r\n' : '\n' };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function broken(why: string): AppError {
  return conflict(
    `cannot add the entry to this file (${why}), which was not changed; repair it, or add the entry by hand`,
    'config_file_broken',
  );
}
