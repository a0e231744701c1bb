import { AppError } from '../platform/errors.ts';
import { placeOf } from '../platform/zod-faults.ts';

/** Reference in a template to an input or to a block's output, with a path inside it. */
export interface Reference {
  readonly kind: 'input' | 'block';
  /** Name of the input, or id of the block. */
  readonly name: string;
  readonly path: readonly string[];
}

const EXPRESSION = /\{\{([^{}]*)\}\}/g;
const INPUT = /^inputs\.([A-Za-z0-9_-]{1,64})((?:\.[A-Za-z0-9_-]+)*)$/;
const OUTPUT = /^blocks\.([a-z0-9_-]{1,64})\.output((?:\.[A-Za-z0-9_-]+)*)$/;
const BLOCK_ID = /^[a-z0-9_-]{1,64}$/;
const SHOWN_CHARS = 80;

/** Part of a text: literal text, a reference, or the fault of an invalid expression. */
export type Part = { readonly text: string } | { readonly reference: Reference } | { readonly fault: string };

/** Split a text into literal parts and references, in their order. */
export function parseTemplate(template: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of template.matchAll(EXPRESSION)) {
    if (match.index > end) parts.push(...literal(template.slice(end, match.index)));
    parts.push(parseExpression((match[1] as string).trim()));
    end = match.index + match[0].length;
  }
  if (end < template.length) parts.push(...literal(template.slice(end)));
  return parts;
}

function literal(text: string): Part[] {
  const isWhole = !/\{\{|\}\}/.test(text);
  return isWhole ? [{ text }] : [{ text }, { fault: 'has unbalanced {{ and }}' }];
}

function parseExpression(expression: string): Part {
  const input = INPUT.exec(expression);
  const match = input ?? OUTPUT.exec(expression);
  if (match === null) {
    const shown = expression.slice(0, SHOWN_CHARS);
    return {
      fault: `"{{${shown}}}" must be {{inputs.<name>}} or {{blocks.<id>.output}}, with a path after it if needed`,
    };
  }
  const path = (match[2] as string).split('.').slice(1);
  return { reference: { kind: input ? 'input' : 'block', name: match[1] as string, path } };
}

/** Return the reference of a template that consists only of it; null for any other template. */
export function soleReference(template: string): Reference | null {
  const [only, ...rest] = parseTemplate(template.trim());
  return only !== undefined && rest.length === 0 && 'reference' in only ? only.reference : null;
}

/** Convert a block's condition to a template. A block id stands for its output. */
export function toCondition(text: string): string {
  const id = text.trim();
  return BLOCK_ID.test(id) ? `{{blocks.${id}.output}}` : text;
}

/** String with references inside a value. */
export interface Template {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** List the strings inside a JSON value that contain a reference, or part of one. */
export function templatesIn(value: unknown, path: readonly (string | number)[]): Template[] {
  if (typeof value === 'string') return isTemplate(value) ? [{ path, text: value }] : [];
  if (Array.isArray(value)) return value.flatMap((item, index) => templatesIn(item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => templatesIn(item, [...path, key]));
}

function isTemplate(text: string): boolean {
  return text.includes('{{') || text.includes('}}');
}

export function referencesIn(value: unknown): Reference[] {
  return templatesIn(value, []).flatMap(({ text }) =>
    parseTemplate(text).flatMap((part) => ('reference' in part ? [part.reference] : [])),
  );
}

/** Render the path of a fault inside a block: `blocks[1].with.query`. */
export function placeIn(at: string, path: readonly PropertyKey[]): string {
  const place = placeOf(path);
  if (place === null) return at;
  return place.startsWith('[') ? `${at}${place}` : `${at}.${place}`;
}

export interface Values {
  readonly inputs: ReadonlyMap<string, unknown>;
  /** Outputs of the blocks that have run. */
  readonly outputs: ReadonlyMap<string, unknown>;
}

/** Maximum characters that references insert into one value, since nested references multiply sizes. */
const INSERTED_CHARS_MAX = 512 * 1024;

/**
 * Replace the references in a JSON value. A string with only a reference becomes the value itself. In other strings,
 * objects become JSON and missing values become ''.
 *
 * @throws AppError `value_too_large` (413) if more than 512 Ki characters would be inserted
 */
export function resolve(value: unknown, values: Values): unknown {
  return resolveWithin(value, values, { chars: INSERTED_CHARS_MAX });
}

interface Budget {
  chars: number;
}

function resolveWithin(value: unknown, values: Values, budget: Budget): unknown {
  if (typeof value === 'string') return isTemplate(value) ? resolveText(value, values, budget) : value;
  if (Array.isArray(value)) return value.map((item) => resolveWithin(item, values, budget));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolveWithin(item, values, budget)]));
}

function resolveText(text: string, values: Values, budget: Budget): unknown {
  const sole = soleReference(text);
  if (sole !== null) {
    const value = lookUp(sole, values);
    spend(budget, toText(value).length);
    return value;
  }
  const parts = parseTemplate(text).map((part) => {
    if ('text' in part) return part.text;
    const inserted = 'reference' in part ? toText(lookUp(part.reference, values)) : '';
    spend(budget, inserted.length);
    return inserted;
  });
  return parts.join('');
}

function spend(budget: Budget, chars: number): void {
  budget.chars -= chars;
  if (budget.chars >= 0) return;
  const message = `its references insert more than ${INSERTED_CHARS_MAX} characters; refer to a part of an output by its path`;
  throw new AppError({ code: 'value_too_large', status: 413, message });
}

/** Look up a reference. Return null if a part of its path is missing. */
function lookUp({ kind, name, path }: Reference, { inputs, outputs }: Values): unknown {
  let value: unknown = (kind === 'input' ? inputs : outputs).get(name) ?? null;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Record<string, unknown>)[key] ?? null;
  }
  return value;
}

/** Convert a JSON value to text: objects and lists to JSON, null to ''. */
export function toText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
