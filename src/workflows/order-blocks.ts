import { referencesIn, toCondition } from './references.ts';
import type { Block } from './schema.ts';

/** List the ids of the blocks that a block waits for, by its references and by `after`. */
export function dependenciesOf(block: Pick<Block, 'with' | 'if' | 'after'>): Set<string> {
  const condition = block.if === undefined ? '' : toCondition(block.if);
  const references = referencesIn([block.with, condition]);
  const named = references.filter(({ kind }) => kind === 'block').map(({ name }) => name);
  return new Set([...named, ...block.after]);
}

/**
 * Order blocks so that each follows the blocks that it waits for, and otherwise as in the definition. The order is the
 * same for every run. Ignore dependencies on missing blocks.
 *
 * @returns the order and every cycle (the ids of its blocks, with the first one repeated); blocks in cycles are in
 *   arbitrary order
 */
export function orderBlocks(blocks: readonly Block[]): { order: Block[]; cycles: string[][] } {
  const ids = new Set(blocks.map(({ id }) => id));
  const waiting = new Map(
    blocks.map((block) => [block.id, new Set([...dependenciesOf(block)].filter((id) => ids.has(id)))]),
  );
  const order: Block[] = [];
  const cycles: string[][] = [];
  const done = new Set<string>();
  while (done.size < ids.size) {
    const next = blocks.find(({ id }) => !done.has(id) && isReady(waiting, done, id));
    if (next !== undefined) {
      order.push(next);
      done.add(next.id);
      continue;
    }
    const cycle = findCycle(waiting, done);
    cycles.push(cycle);
    for (const id of cycle) done.add(id);
  }
  return { order, cycles };
}

type Dependencies = ReadonlyMap<string, ReadonlySet<string>>;

function isReady(waiting: Dependencies, done: ReadonlySet<string>, id: string): boolean {
  return [...(waiting.get(id) ?? [])].every((dependency) => done.has(dependency));
}

/** Follow unfinished dependencies until a block repeats. Each remaining block has one. */
function findCycle(waiting: Dependencies, done: ReadonlySet<string>): string[] {
  const unfinished = (ids: Iterable<string>) => [...ids].find((id) => !done.has(id)) as string;
  const path: string[] = [];
  let at = unfinished(waiting.keys());
  while (!path.includes(at)) {
    path.push(at);
    at = unfinished(waiting.get(at) ?? []);
  }
  return [...path.slice(path.indexOf(at)), at];
}
