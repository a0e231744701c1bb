import { ENGINES } from '../../src/documents/engines.ts';
import type { Engine } from '../../src/documents/schema.ts';
import type { SeededRandom } from '../support/random.ts';

/** Reference to one of the things that are known when a step begins: 0 is the newest, just below 1 the oldest. */
export type Ref = number;

export type CallerName = 'high' | 'low';

/** Condition of a statement on documents. */
export type Where =
  | { readonly kind: 'group'; readonly group: string; readonly negated: boolean }
  | { readonly kind: 'no group' }
  | { readonly kind: 'level above'; readonly level: number }
  | { readonly kind: 'searchable'; readonly searchable: boolean; readonly group: string };

/** User metadata of an edit. `scope` is the department that may see a document. */
export type Patch = Readonly<Record<string, string | null>>;

export interface Upload {
  readonly kind: 'upload';
  readonly bucket: number;
  readonly caller: CallerName;
  /** Document whose text is uploaded again, or null for a new text. */
  readonly again: Ref | null;
  /** True if no attempt to ingest it succeeds. */
  readonly isBad: boolean;
  readonly onDuplicate: 'link' | 'reject' | 'allow';
  readonly collection: number | null;
  readonly metadata: Patch;
  readonly level: number;
}

export interface Edit {
  readonly kind: 'edit';
  readonly caller: CallerName;
  readonly document: Ref;
  readonly metadata: Patch;
  readonly level: number | null;
  readonly reindex: boolean;
}

export interface Bulk {
  readonly kind: 'bulk';
  readonly bucket: number;
  readonly caller: CallerName;
  readonly where: Where;
  readonly metadata: Patch;
  readonly level: number | null;
  readonly searchable: boolean | null;
  readonly reindex: boolean;
}

export interface Search {
  readonly kind: 'search';
  readonly caller: CallerName;
  readonly document: Ref;
  readonly mode: 'keyword' | 'hybrid';
  readonly narrow: 'not' | 'collection' | 'filter';
}

export type Operation =
  | Upload
  | Edit
  | Bulk
  | Search
  | { readonly kind: 'harddelete'; readonly bucket: number; readonly documents: readonly Ref[]; readonly where: Where }
  | { readonly kind: 'delete'; readonly document: Ref }
  | { readonly kind: 'reprocess' | 'delete job'; readonly job: Ref }
  | { readonly kind: 'cancel'; readonly job: Ref; readonly force: boolean }
  | { readonly kind: 'list'; readonly bucket: number; readonly caller: CallerName }
  | { readonly kind: 'rebuild' | 'optimize'; readonly bucket: number }
  | { readonly kind: 'housekeeping' | 'purge' | 'abandon' | 'kill' | 'kill engine' }
  | { readonly kind: 'move'; readonly bucket: number; readonly engine: Engine }
  | { readonly kind: 'restart'; readonly worker: number };

export interface PlacedOperation {
  readonly operation: Operation;
  /** Delay from the beginning of its step. */
  readonly afterMs: number;
  /** Number of the node that runs it. */
  readonly node: number;
}

/** Concurrent operations. The next step begins when all of them have been answered. */
export interface Step {
  readonly operations: readonly PlacedOperation[];
  /** True if all jobs are awaited afterwards and everything is compared. */
  readonly settles: boolean;
}

export const BUCKETS = 2;
export const COLLECTIONS = 2;
export const NODES = 2;
const GROUPS = ['red', 'green', 'blue'] as const;
const CONCURRENT_OPERATIONS = 5;
const AFTER_MS = 40;
const STEPS_PER_SETTLE = 6;
/** Share of operations of a step on the same job or document. */
const HOT_PERCENT = 60;

/** Weight of each kind of operation. */
const KINDS: Readonly<Record<string, number>> = {
  ...{ upload: 22, again: 10, edit: 14, bulk: 7, softdelete: 4, enable: 4 },
  ...{ reprocess: 9, cancel: 9, 'delete job': 4, delete: 6, harddelete: 2 },
  ...{ search: 12, list: 4, rebuild: 5, optimize: 2, housekeeping: 4, purge: 3 },
  ...{ restart: 3, abandon: 5 },
};
/** Weights beside those of `KINDS` in an installation with a second engine of the index. */
const ENGINE_KINDS: Readonly<Record<string, number>> = { move: 8, 'kill engine': 1 };

/**
 * Draw steps that depend only on the seed.
 *
 * @param killEvery steps between two kills of a worker process, null for none
 * @param hasEngines true to move buckets between engines, and to kill the second engine
 */
export function drawSteps(
  random: SeededRandom,
  count: number,
  { killEvery, hasEngines = false }: { readonly killEvery: number | null; readonly hasEngines?: boolean },
): Step[] {
  const kinds: Readonly<Record<string, number>> = hasEngines ? { ...KINDS, ...ENGINE_KINDS } : KINDS;
  return Array.from({ length: count }, (_, at) => {
    const hot = { document: drawRef(random), job: drawRef(random) };
    const drawn = Array.from({ length: 1 + random.int(CONCURRENT_OPERATIONS) }, () => drawKind(random, kinds));
    const operations = drawn.map((kind) => drawOperation(random, kind, hot));
    if (killEvery !== null && at % killEvery === killEvery - 1) operations.push({ kind: 'kill' });
    return {
      operations: operations.map((operation) => ({
        operation,
        afterMs: random.int(AFTER_MS),
        node: random.int(NODES),
      })),
      settles: random.int(STEPS_PER_SETTLE) === 0 || at === count - 1,
    };
  });
}

function drawKind(random: SeededRandom, kinds: Readonly<Record<string, number>>): string {
  let left = random.int(Object.values(kinds).reduce((sum, weight) => sum + weight, 0));
  for (const [kind, weight] of Object.entries(kinds)) {
    left -= weight;
    if (left < 0) return kind;
  }
  return 'search';
}

/** Draw a reference, most often to new things, whose jobs are still running. */
function drawRef(random: SeededRandom): Ref {
  const at = random.int(1_000) / 1_000;
  return at * at;
}

function drawOperation(random: SeededRandom, kind: string, hot: { document: Ref; job: Ref }): Operation {
  const chance = (percent: number) => random.int(100) < percent;
  const document = () => (chance(HOT_PERCENT) ? hot.document : drawRef(random));
  const job = () => (chance(HOT_PERCENT) ? hot.job : drawRef(random));
  const bucket = chance(75) ? 0 : 1;
  const caller: CallerName = chance(70) ? 'high' : 'low';
  const reindex = chance(50);
  const group = random.pick(GROUPS);
  const common = { bucket, caller, where: drawWhere(random), level: null, reindex };
  switch (kind) {
    case 'upload':
    case 'again':
      return {
        ...{ kind: 'upload', bucket, caller, again: kind === 'again' ? hot.document : null },
        isBad: chance(8),
        onDuplicate: random.pick(['link', 'reject', 'allow']),
        collection: random.pick([null, 0, 1]),
        metadata: { team: group, ...drawPatch(random) },
        level: random.pick([1, 1, 2, 3, 4, 9]),
      };
    case 'edit':
      return { kind, caller, document: document(), metadata: drawPatch(random), level: drawLevel(random), reindex };
    case 'bulk':
      return { kind, ...common, metadata: drawPatch(random), level: drawLevel(random), searchable: null };
    case 'softdelete':
      return { kind: 'bulk', ...common, metadata: {}, searchable: false };
    case 'enable':
      return { kind: 'bulk', ...common, metadata: {}, searchable: true };
    case 'reprocess':
    case 'delete job':
      return { kind, job: job() };
    case 'cancel':
      return { kind, job: job(), force: chance(80) };
    case 'delete':
      return { kind, document: document() };
    case 'harddelete':
      return { kind, bucket, documents: [document(), document()], where: drawWhere(random) };
    case 'search': {
      const narrow = random.pick(['not', 'not', 'collection', 'filter'] as const);
      return { kind, caller, document: document(), mode: random.pick(['keyword', 'hybrid']), narrow };
    }
    case 'list':
      return { kind, bucket, caller };
    case 'rebuild':
    case 'optimize':
      return { kind, bucket };
    case 'move':
      return { kind, bucket, engine: random.pick(ENGINES) };
    case 'restart':
      return { kind, worker: random.int(NODES) };
    default:
      return { kind: kind as 'housekeeping' | 'purge' | 'abandon' | 'kill engine' };
  }
}

function drawLevel(random: SeededRandom): number | null {
  return random.pick([null, null, null, 1, 3, 4, 9]);
}

function drawPatch(random: SeededRandom): Patch {
  const patches: readonly (() => Patch)[] = [
    () => ({ note: `n${random.int(1_000)}` }),
    () => ({ note: `n${random.int(1_000)}` }),
    () => ({ team: random.pick(GROUPS) }),
    () => ({ team: null, note: `n${random.int(1_000)}` }),
    () => ({ scope: random.pick(['legal', 'common', null]) }),
    () => ({}),
  ];
  return random.pick(patches)();
}

function drawWhere(random: SeededRandom): Where {
  const group = random.pick(GROUPS);
  const wheres: readonly Where[] = [
    { kind: 'group', group, negated: false },
    { kind: 'group', group, negated: false },
    { kind: 'group', group, negated: true },
    { kind: 'no group' },
    { kind: 'level above', level: 2 + random.int(4) },
    { kind: 'searchable', searchable: random.int(2) === 0, group },
  ];
  return random.pick(wheres);
}

export function writeWhere(where: Where): string {
  switch (where.kind) {
    case 'group':
      return where.negated ? `NOT team = '${where.group}'` : `team = '${where.group}'`;
    case 'no group':
      return 'team IS NULL';
    case 'level above':
      return `privacy_level > ${where.level}`;
    case 'searchable':
      return `searchable = ${where.searchable ? 'TRUE' : 'FALSE'} AND team = '${where.group}'`;
  }
}

/** Return the statement of a bulk edit, or null if it changes nothing. */
export function writeStatement({ where, metadata, level, searchable }: Bulk): string | null {
  const condition = writeWhere(where);
  if (searchable === false && Object.keys(metadata).length === 0) return `SOFTDELETE FROM documents WHERE ${condition}`;
  const assignments = Object.entries(metadata).map(
    ([key, value]) => `${key} = ${value === null ? 'NULL' : `'${value}'`}`,
  );
  if (level !== null) assignments.push(`privacy_level = ${level}`);
  if (searchable !== null) assignments.push(`searchable = ${searchable ? 'TRUE' : 'FALSE'}`);
  return assignments.length === 0 ? null : `UPDATE documents SET ${assignments.join(', ')} WHERE ${condition}`;
}
