import { findNearest } from '../platform/nearest-word.ts';
import { mostTelling, PARSE_OPTIONS } from '../platform/zod-faults.ts';
import { parseWithNulls } from '../platform/zod-nulls.ts';
import type { BlockTypes } from './block-types.ts';
import { blockFaults, type Scope, templateFaults, typeNameOf } from './check-block.ts';
import { orderBlocks } from './order-blocks.ts';
import { placeIn, templatesIn } from './references.ts';
import { BLOCKS_MAX, Block, DEFINITION_BYTES_MAX, Definition, InputDeclaration } from './schema.ts';
import { ANY, type ValueSchema } from './value-types.ts';

/** Maximum number of reported faults. */
const FAULTS_MAX = 200;
const DEPTH_MAX = 32;

/**
 * Validate a definition: shapes, block types, references and their types, arguments, and cycles. One fault doesn't hide
 * others: a malformed part is removed, and counts as a value of any type where it is used.
 *
 * @returns the definition with its defaults, or all faults, each with its path: `blocks[1].with.query: is required`
 */
export function validateDefinition(
  known: BlockTypes,
  value: unknown,
): { readonly definition: Definition } | { readonly faults: readonly string[] } {
  const fault = sizeFault(value);
  if (fault !== null) return { faults: [`definition: ${fault}`] };
  const parsed = parseWithNulls(Definition, value, PARSE_OPTIONS);
  const shapeFaults = parsed.success ? [] : parsed.error.issues.map((issue) => describe(issue));
  const faults = [...shapeFaults, ...meaningFaults(known, value)];
  if (!parsed.success || faults.length > 0) return { faults: cut(faults) };
  return { definition: parsed.data };
}

function sizeFault(value: unknown): string | null {
  if (isDeeper(value, DEPTH_MAX)) return `must be nested at most ${DEPTH_MAX} levels deep`;
  const json = JSON.stringify(value) ?? '';
  if (Buffer.byteLength(json) > DEFINITION_BYTES_MAX) return `must be at most ${DEFINITION_BYTES_MAX} bytes of JSON`;
  return /(?:^|[^\\])(?:\\\\)*\\u(?:0000|d[89a-f])/.test(json)
    ? 'must not contain U+0000 or unpaired surrogates'
    : null;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

function describe(issue: Parameters<typeof mostTelling>[0]): string {
  // An invalid record key has its fault inside the issue.
  if (issue.code === 'invalid_key') return `${placeIn('', issue.path).slice(1)}: ${issue.issues[0]?.message}`;
  const { path, message } = mostTelling(issue);
  return `${placeIn('', path).replace(/^\./, '') || 'definition'}: ${message}`;
}

function cut(faults: readonly string[]): string[] {
  if (faults.length <= FAULTS_MAX) return [...faults];
  return [...faults.slice(0, FAULTS_MAX), `and ${faults.length - FAULTS_MAX} more faults`];
}

/** Find the faults beyond shapes, in all parts with a valid shape. */
function meaningFaults(known: BlockTypes, value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const given = value as Readonly<Record<string, unknown>>;
  const raw = Array.isArray(given['blocks']) ? (given['blocks'] as readonly unknown[]) : [];
  if (raw.length > BLOCKS_MAX) return [];
  const inputs = readInputs(given['inputs']);
  const blocks = raw.map((block) => parseWithNulls(Block, block).data ?? null);
  const identities = raw.map(identityOf);
  const scope = scopeOf(known, inputs.schemas, identities);
  const faults = [...inputs.faults, ...identityFaults(known, identities)];
  for (const [index, block] of blocks.entries()) {
    if (block !== null) faults.push(...blockFaults(known, scope, block, `blocks[${index}]`));
  }
  for (const template of templatesIn(given['output'] ?? null, ['output']))
    faults.push(...templateFaults(scope, '', template));
  return [...faults, ...cycleFaults(blocks)];
}

function readInputs(value: unknown): { schemas: Map<string, ValueSchema>; faults: string[] } {
  const schemas = new Map<string, ValueSchema>();
  const faults: string[] = [];
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  for (const [name, declared] of Object.entries(isObject ? value : {})) {
    const declaration = parseWithNulls(InputDeclaration, declared).data;
    if (declaration === undefined) {
      schemas.set(name, ANY);
      continue;
    }
    const { type, required, default: fallback } = declaration;
    const isSet = fallback !== undefined && fallback !== null;
    schemas.set(name, required || isSet ? { type } : { type: [type, 'null'] });
    if (isSet && typeNameOf(fallback) !== type) {
      faults.push(`${placeIn('inputs', [name, 'default'])}: must be of type ${type}, not ${typeNameOf(fallback)}`);
    }
  }
  return { schemas, faults };
}

/** Id and type of a block, if they are strings. */
interface Identity {
  readonly id: string | null;
  readonly type: string | null;
}

function identityOf(block: unknown): Identity {
  const { id, type } = (typeof block === 'object' && block !== null ? block : {}) as Record<string, unknown>;
  return { id: typeof id === 'string' ? id : null, type: typeof type === 'string' ? type : null };
}

/** Return the output types by block id. Unknown block types and duplicate ids count as any type. */
function scopeOf(types: BlockTypes, inputs: ReadonlyMap<string, ValueSchema>, identities: readonly Identity[]): Scope {
  const outputs = new Map<string, ValueSchema>();
  for (const { id, type } of identities) {
    if (id !== null) outputs.set(id, outputs.has(id) ? ANY : (types.get(type ?? '')?.output ?? ANY));
  }
  return { inputs, outputs };
}

function identityFaults(types: BlockTypes, identities: readonly Identity[]): string[] {
  const first = new Map<string, number>();
  return identities.flatMap(({ id, type }, index) => {
    const faults: string[] = [];
    const before = id === null ? undefined : first.get(id);
    if (before !== undefined) faults.push(`blocks[${index}].id: "${id}" is already the id of blocks[${before}]`);
    else if (id !== null) first.set(id, index);
    if (type === null || types.has(type)) return faults;
    const names = [...types.keys()];
    const nearest = findNearest(type, names);
    const hint = nearest === null ? `there are ${names.join(', ')}` : `did you mean "${nearest}"?`;
    faults.push(`blocks[${index}].type: unknown block type "${type.slice(0, 64)}"; ${hint}`);
    return faults;
  });
}

function cycleFaults(blocks: readonly (Block | null)[]): string[] {
  const readable = blocks.filter((block) => block !== null);
  return orderBlocks(readable).cycles.map((cycle) => {
    const at = blocks.findIndex((block) => block?.id === cycle[0]);
    return `blocks[${at}]: is part of a cycle: ${cycle.join(' -> ')}`;
  });
}
