import type { z } from 'zod';
import { findNearest } from '../platform/nearest-word.ts';
import { mostTelling, PARSE_OPTIONS } from '../platform/zod-faults.ts';
import { parseWithNulls } from '../platform/zod-nulls.ts';
import type { BlockType, BlockTypes } from './block-types.ts';
import {
  parseTemplate,
  placeIn,
  type Reference,
  soleReference,
  type Template,
  templatesIn,
  toCondition,
} from './references.ts';
import type { Block } from './schema.ts';
import { ANY, describeTypes, mayFit, schemaAt, toValueSchema, type ValueSchema } from './value-types.ts';

/** Types of everything that can be referenced. */
export interface Scope {
  readonly inputs: ReadonlyMap<string, ValueSchema>;
  readonly outputs: ReadonlyMap<string, ValueSchema>;
}

export function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Find a block's faults in references and their types, in its condition and in its arguments. */
export function blockFaults(types: BlockTypes, scope: Scope, block: Block, at: string): string[] {
  const faults = templatesIn(block.with, ['with']).flatMap((template) => templateFaults(scope, at, template));
  if (block.if !== undefined) faults.push(...conditionFaults(scope, block.if, at));
  for (const [index, id] of block.after.entries()) {
    if (!scope.outputs.has(id)) faults.push(`${at}.after[${index}]: ${unknownBlock(scope, id)}`);
  }
  const type = types.get(block.type);
  return type === undefined ? faults : [...faults, ...argumentsFaults(scope, type, block, at)];
}

function conditionFaults(scope: Scope, condition: string, at: string): string[] {
  const text = toCondition(condition);
  const faults = templateFaults(scope, at, { path: ['if'], text });
  const hasReference = parseTemplate(text).some((part) => !('text' in part));
  return hasReference
    ? faults
    : [`${at}.if: must have a reference such as {{blocks.check.output}}, or be the id of a block`];
}

function argumentsFaults(scope: Scope, type: BlockType, block: Block, at: string): string[] {
  const faults: string[] = [];
  for (const [name, schema] of Object.entries(type.shape)) {
    if (block.with[name] === undefined && !schema.safeParse(undefined).success) {
      faults.push(`${at}.with.${name}: is required by ${block.type}`);
    }
  }
  for (const [name, value] of Object.entries(block.with)) {
    const schema = Object.hasOwn(type.shape, name) ? type.shape[name] : undefined;
    const path = ['with', name];
    if (schema === undefined) {
      const nearest = findNearest(name, Object.keys(type.shape));
      const hint = nearest === null ? '' : `; did you mean "${nearest}"?`;
      faults.push(`${placeIn(at, path)}: ${block.type} has no such argument${hint}`);
    } else if (value !== null || !schema.safeParse(undefined).success) {
      // An optional argument may also be null.
      faults.push(...shapeFaults(schema, value, at, path), ...typeFaults(scope, schema, value, at, path));
    }
  }
  const fault = type.faultOf(block.with);
  if (fault !== null) faults.push(/^\w+: /.test(fault) ? `${at}.with.${fault}` : `${at}.with: ${fault}`);
  // Rules over several arguments can only be checked without templates.
  if (faults.length === 0 && templatesIn(block.with, []).length === 0) {
    faults.push(...shapeFaults(type.args, block.with, at, ['with']));
  }
  return faults;
}

/** Check a value as far as it is known before a run, that is, except templates. */
function shapeFaults(schema: z.ZodType, value: unknown, at: string, path: readonly string[]): string[] {
  const parsed = parseWithNulls(schema, value, PARSE_OPTIONS);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) => {
    if (templatesIn(valueAt(value, issue.path), []).length > 0) return [];
    const fault = mostTelling(issue);
    return [`${placeIn(at, [...path, ...fault.path])}: ${fault.message}`];
  });
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((inner: unknown, key) => (inner as Readonly<Record<PropertyKey, unknown>> | null)?.[key], value);
}

/** Compare the type of each template in a value with the expected type. */
function typeFaults(scope: Scope, schema: z.ZodType, value: unknown, at: string, path: readonly string[]): string[] {
  const templates = templatesIn(value, []);
  if (templates.length === 0) return [];
  const whole = toValueSchema(schema, 'input');
  return templates.flatMap(({ path: inside, text }) => {
    const expected = schemaAt(whole, inside.map(String));
    const given = typeOf(scope, text);
    if (expected === null || given === null || mayFit(given, expected)) return [];
    const place = placeIn(at, [...path, ...inside]);
    return [`${place}: must be ${describeTypes(expected)}, but ${text.trim()} is ${describeTypes(given)}`];
  });
}

/** Find the type of a template. Return null if it has faults, which are reported separately. */
function typeOf(scope: Scope, text: string): ValueSchema | null {
  const sole = soleReference(text);
  if (sole === null) return parseTemplate(text).some((part) => 'fault' in part) ? null : { type: 'string' };
  const found = schemaOf(scope, sole);
  return typeof found === 'string' ? null : found;
}

export function templateFaults(scope: Scope, at: string, { path, text }: Template): string[] {
  const place = placeIn(at, path).replace(/^\./, '');
  return parseTemplate(text).flatMap((part) => {
    if ('fault' in part) return [`${place}: ${part.fault}`];
    if (!('reference' in part)) return [];
    const found = schemaOf(scope, part.reference);
    return typeof found === 'string' ? [`${place}: ${found}`] : [];
  });
}

/** Return the type of a reference, or its fault as text. */
function schemaOf(scope: Scope, { kind, name, path }: Reference): ValueSchema | string {
  const root = (kind === 'input' ? scope.inputs : scope.outputs).get(name);
  if (root === undefined) return kind === 'input' ? unknownInput(scope, name) : unknownBlock(scope, name);
  const found = schemaAt(kind === 'input' ? withAnyItems(root) : root, path);
  return found ?? `${kind === 'input' ? `inputs.${name}` : `blocks.${name}.output`} has no "${path.join('.')}"`;
}

/** Allow arbitrary parts, since inputs don't declare the types of their parts. */
function withAnyItems(schema: ValueSchema): ValueSchema {
  return schema.type === undefined ? schema : { ...schema, items: ANY, additionalProperties: ANY };
}

function unknownInput(scope: Scope, name: string): string {
  const nearest = findNearest(name, scope.inputs.keys());
  return `unknown input "${name}"${nearest === null ? '' : `; did you mean "${nearest}"?`}`;
}

function unknownBlock(scope: Scope, id: string): string {
  const nearest = findNearest(id, scope.outputs.keys());
  return `unknown block "${id}"${nearest === null ? '' : `; did you mean "${nearest}"?`}`;
}
