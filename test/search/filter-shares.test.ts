import { expect, it } from 'vitest';
import { operatorCaller } from '../../src/access/operator.ts';
import type { DocumentScope } from '../../src/search/documents/document-store.ts';
import { Filter } from '../../src/search/filter.ts';
import { FilterShares, widthsOf } from '../../src/search/filter-shares.ts';

const caller = operatorCaller({ id: 'org_a', plan: 'free' }, 'ann');
const scopeOf = (fields: Partial<DocumentScope> = {}): DocumentScope => ({
  ...{ bucketIds: ['bkt_a'], collectionId: null, filter: Filter.parse({ team: 'x' }) },
  ...fields,
});

it('a filter of unknown share is looked for among the most candidates at once', () => {
  expect(widthsOf(undefined, 60)).toEqual([480]);
  expect(widthsOf(0, 60)).toEqual([480]);
});

it('a filter of known share is looked for among as many candidates as it is likely to need, and then among the most', () => {
  expect(widthsOf(1, 60)).toEqual([60, 480]);
  expect(widthsOf(0.5, 60)).toEqual([160, 480]);
  expect(widthsOf(0.25, 60)).toEqual([330, 480]);
  expect(widthsOf(0.125, 60)).toEqual([480]);
  expect(widthsOf(1e-9, 60)).toEqual([480]);
});

it('the numbers of candidates of one limit are few, and the last of them is the same for every share', () => {
  const widths = Array.from({ length: 1_000 }, (_, nth) => widthsOf(nth / 1_000, 60));
  expect(new Set(widths.map((each) => each.at(-1)))).toEqual(new Set([480]));
  expect(new Set(widths.flat()).size).toBeLessThanOrEqual(43);
  for (const [first, last = first] of widths) expect(first).toBeLessThanOrEqual(last as number);
});

it('the share of a filter is known until it is forgotten, for its caller, buckets and collection only', () => {
  const shares = new FilterShares();
  expect(shares.get(caller, scopeOf())).toBeUndefined();
  shares.note(caller, scopeOf(), 0.5);
  expect(shares.get(caller, scopeOf())).toBe(0.5);
  expect(shares.get({ ...caller, actor: 'operator:bob' }, scopeOf())).toBeUndefined();
  for (const other of [
    { bucketIds: ['bkt_b'] },
    { bucketIds: ['bkt_a', 'bkt_b'] },
    { collectionId: 'col_a' },
    { filter: Filter.parse({ team: 'y' }) },
    { filter: null },
  ]) {
    expect(shares.get(caller, scopeOf(other))).toBeUndefined();
  }
  shares.note(caller, scopeOf(), undefined);
  expect(shares.get(caller, scopeOf())).toBeUndefined();
});

it('a share moves towards that of the last search, and a filter that leaves few documents has the share 0 at once', () => {
  const shares = new FilterShares();
  shares.note(caller, scopeOf(), 0.4);
  shares.note(caller, scopeOf(), 0.8);
  expect(shares.get(caller, scopeOf())).toBeCloseTo(0.5, 9);
  shares.note(caller, scopeOf(), 0);
  expect(shares.get(caller, scopeOf())).toBe(0);
  shares.note(caller, scopeOf(), 0.8);
  expect(shares.get(caller, scopeOf())).toBe(0.8);
});

it('nothing is kept of a search with a condition that no filter can express', () => {
  const shares = new FilterShares();
  const scope = scopeOf({ condition: (sql) => sql`true` });
  shares.note(caller, scope, 0.5);
  expect(shares.get(caller, scope)).toBeUndefined();
  shares.note(caller, scopeOf(), 0.5);
  expect(shares.get(caller, scope)).toBeUndefined();
});
