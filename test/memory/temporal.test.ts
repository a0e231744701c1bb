import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { MemorySearchRequest } from '../../src/memory/schema.ts';
import { searchMemory } from '../../src/memory/search-memory.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { addSource, createSourceDatabase, type SourceDatabase, sync } from '../support/memory.ts';
import { until } from '../support/until.ts';

let test: TestAppliance;
let source: SourceDatabase;
let worker: Service;

/** Rows of the table, each a document. `versions` are found by the same primary key at different times. */
const ROWS: readonly (readonly [id: number, label: string, noted: string | null])[] = [
  [1, 'alpha', '2024-01-01T00:00:00Z'],
  [2, 'beta', '2024-06-01T12:00:00+09:00'],
  [3, 'gamma', '2024-06-01T03:00:00Z'],
  [4, 'delta', null],
];

beforeAll(async () => {
  source = await createSourceDatabase();
  test = await openTestAppliance({ sources: { crm: { type: 'postgres', url: source.url } } });
  worker = test.appliance.jobs.worker('ingest', { sweepMs: 100 });
  await worker.start(new AbortController().signal);
  const { sql } = source;
  await sql`CREATE TABLE notes (id int PRIMARY KEY, label text, body text, noted timestamptz)`;
  await sql`CREATE TABLE rules (id int PRIMARY KEY, label text, body text, noted timestamp)`;
  for (const [id, label, noted] of ROWS) {
    await sql`INSERT INTO notes VALUES (${id}, ${label}, 'A remark about harbours.', ${noted}::text::timestamptz)`;
  }
  await sql`INSERT INTO rules VALUES (1, 'one', 'The first rule about ferries.', '2024-01-01'), (2, 'other', 'Another rule about ferries.', '2024-02-01')`;
  const add = (table: string, more: Record<string, unknown>) =>
    addSource(test, {
      ...{ name: table, connection: 'crm', tags: [`kind:${table}`], ...more },
      config: { table, text: '{{label}}: {{body}}', title: 'label', event_time: 'noted' },
    });
  await sync(test, (await add('notes', {})).id);
  const rules = (await add('rules', { versions: 'keep' })).id;
  await sync(test, rules);
  for (const [text, noted] of [
    ['The second rule about ferries.', '2024-03-01'],
    ['The third rule about ferries.', '2024-05-01'],
    // A tie: the version that was made later is the newer one.
    ['The fourth rule about ferries.', '2024-05-01'],
  ] as const) {
    await sql`UPDATE rules SET body = ${text}, noted = ${noted}::text::timestamp WHERE id = 1`;
    await sync(test, rules);
  }
  await upload('plain.txt', 'An uploaded remark about harbours.', { metadata: { kind: 'notes' } });
  await until(
    async () => {
      const rows = await test.appliance.sql`SELECT status FROM documents WHERE status <> 'ready'`;
      return rows.length === 0;
    },
    { withinMs: 120_000, what: 'the ingest' },
  );
});
afterAll(async () => {
  await worker.stop();
  await test.close();
  await source.drop();
});

async function upload(filename: string, text: string, more: Record<string, unknown> = {}): Promise<string> {
  const request = UploadRequest.parse({ ...more, on_duplicate: 'allow' });
  const content = { bytes: Buffer.from(text), fileName: filename, contentType: null };
  return (await uploadDocument(test.appliance.ingest.uploads, test.operator, 'default', content, request)).id;
}

const seconds = (time: string) => Date.parse(time) / 1000;

function search(request: Record<string, unknown>, caller: Caller = test.operator) {
  const parsed = MemorySearchRequest.parse({ bucket: 'default', ...request });
  return searchMemory(test.appliance.memory.search, caller, parsed);
}

/** Names of the documents of one kind that are found, sorted. */
async function names(request: Record<string, unknown>, kind = 'notes'): Promise<string[]> {
  const { results } = await search({ tags: [`kind:${kind}`], ...request });
  return results.map((result) => result.citation.file_name.replace('.txt', '')).toSorted();
}

describe('a range of time', () => {
  const JUNE = '2024-06-01T03:00:00Z';
  it.each([
    ['before', 'a time after all', { temporal_start: '2030-01-01T00:00:00Z' }, ['alpha', 'beta', 'gamma']],
    ['before', 'the time of two, which are not before it', { temporal_start: JUNE }, ['alpha']],
    [
      'before',
      'a second later, in another time zone',
      { temporal_start: '2024-06-01T12:00:01+09:00' },
      ['alpha', 'beta', 'gamma'],
    ],
    ['after', 'a time before all', { temporal_start: '2000-01-01T00:00:00Z' }, ['alpha', 'beta', 'gamma']],
    ['after', 'the time of two, which are not after it', { temporal_start: JUNE }, []],
    ['after', 'half a second earlier', { temporal_start: '2024-06-01T02:59:59.500Z' }, ['beta', 'gamma']],
    [
      'between',
      'both bounds inclusive',
      { temporal_start: '2024-01-01T00:00:00Z', temporal_end: JUNE },
      ['alpha', 'beta', 'gamma'],
    ],
    ['between', 'one moment', { temporal_start: JUNE, temporal_end: JUNE }, ['beta', 'gamma']],
    ['between', 'a gap', { temporal_start: '2024-02-01T00:00:00Z', temporal_end: '2024-05-01T00:00:00Z' }, []],
    ['as_of', 'the time of the first', { temporal_start: '2024-01-01T00:00:00Z' }, ['alpha']],
    ['as_of', 'a time before all', { temporal_start: '2023-12-31T23:59:59Z' }, []],
    ['as_of', 'the time of all', { temporal_start: JUNE }, ['alpha', 'beta', 'gamma']],
  ])('%s %s', async (temporal, _, bounds, expected) => {
    const times = Object.fromEntries(Object.entries(bounds).map(([name, time]) => [name, seconds(time as string)]));
    expect(await names({ query: 'harbours', temporal, ...times })).toEqual(expected);
  });

  it('without a range, and with latest, documents without time are found', async () => {
    const all = ['alpha', 'beta', 'delta', 'gamma', 'plain'];
    expect(await names({ query: 'harbours' })).toEqual(all);
    expect(await names({ query: 'harbours', temporal: 'latest' })).toEqual(all);
  });
});

describe('a document of several versions', () => {
  const texts = async (request: Record<string, unknown>, caller?: Caller) =>
    (await search({ query: 'ferries', tags: ['kind:rules'], ...request }, caller)).results
      .map(({ text }) => /: (\w+ \w+)/.exec(text)?.[1])
      .toSorted();

  it.each([
    ['2023-12-31T00:00:00Z', []],
    ['2024-01-15T00:00:00Z', ['The first']],
    ['2024-02-15T00:00:00Z', ['Another rule', 'The first']],
    ['2024-03-01T00:00:00Z', ['Another rule', 'The second']],
    ['2024-05-01T00:00:00Z', ['Another rule', 'The fourth']],
    ['2030-01-01T00:00:00Z', ['Another rule', 'The fourth']],
  ])('as_of %s finds the newest version of that time', async (time, expected) => {
    expect(await texts({ temporal: 'as_of', temporal_start: seconds(time) })).toEqual(expected);
  });

  it('latest finds only the newest version; without it all versions are found', async () => {
    expect(await texts({ temporal: 'latest' })).toEqual(['Another rule', 'The fourth']);
    expect(await texts({})).toEqual(['Another rule', 'The first', 'The fourth', 'The second', 'The third']);
  });

  it('latest orders results of equal score by time, newest first', async () => {
    const { results } = await search({ query: 'remark', temporal: 'latest' });
    for (const [at, result] of results.entries()) {
      const next = results[at + 1];
      if (next === undefined || next.score !== result.score) continue;
      expect(Date.parse(result.event_time ?? '0001-01-01')).toBeGreaterThanOrEqual(
        Date.parse(next.event_time ?? '0001-01-01'),
      );
    }
  });

  it('a newer version that the caller may not see does not hide the version before it', async () => {
    const { sql } = test.appliance;
    await sql`UPDATE documents SET privacy_level = 6 WHERE event_time = '2024-05-01'`;
    const low = { ...test.operator, kind: 'api_key', role: null, scopes: new Set(['search']), authLevel: 3 } as const;
    expect(await texts({ temporal: 'latest' }, low as unknown as Caller)).toEqual(['Another rule', 'The second']);
    await sql`UPDATE documents SET privacy_level = 1`;
  });

  it('uploads with the same source_path are versions of one document', async () => {
    const at = { source_path: 'manuals/winch.txt', metadata: { kind: 'winch' } };
    await upload('winch.txt', 'Old advice about the winch.', at);
    const newest = await upload('winch.txt', 'New advice about the winch.', at);
    await until(async () => (await names({ query: 'winch' }, 'winch')).length === 2, {
      ...{ withinMs: 120_000, what: 'the ingest of both versions' },
    });
    const { results } = await search({ query: 'winch', tags: ['kind:winch'], temporal: 'latest' });
    expect(results.map((result) => result.document_id)).toEqual([newest]);
  });
});

describe('filters', () => {
  it('sources selects by type of source, and tags must all hold', async () => {
    expect(await names({ query: 'remark', sources: ['postgres'] })).toEqual(['alpha', 'beta', 'delta', 'gamma']);
    expect(await names({ query: 'remark', sources: ['folder', 's3'] })).toEqual([]);
    expect(await names({ query: 'remark', tags: ['kind:rules'] })).not.toContain('alpha');
    expect(await names({ query: 'remark', tags: ['kind:notes', 'kind:rules'] })).toEqual([]);
  });

  it('a result names its source and its time', async () => {
    const { results, bucket_ids: bucketIds } = await search({ query: 'alpha', tags: ['kind:notes'] });
    const [listed] = await test.appliance.sql`SELECT id FROM sources WHERE name = 'notes'`;
    expect(results[0]).toMatchObject({
      event_time: '2024-01-01T00:00:00.000Z',
      source: { id: listed?.['id'], type: 'postgres', name: 'notes' },
      bucket_id: bucketIds[0],
      metadata: { source_table: 'notes', 'schift.source_pk': '1' },
    });
    const plain = await search({ query: 'uploaded', tags: ['kind:notes'] });
    expect(plain.results[0]).toMatchObject({ event_time: null, source: null });
  });
});

describe('requests that are refused', () => {
  it.each([
    [{ temporal: 'before' }, 'temporal_start'],
    [{ temporal: 'as_of', temporal_end: 1 }, 'temporal_start'],
    [{ temporal: 'between', temporal_start: 1 }, 'temporal_end'],
    [{ temporal: 'between', temporal_start: 2, temporal_end: 1 }, 'temporal_end'],
    [{ temporal: 'during' }, 'temporal'],
    [{ tags: ['nothing'] }, 'tags'],
    [{ temporal: 'before', temporal_start: 1e15 }, 'temporal_start'],
  ])('%j names %s', (request, field) => {
    const parsed = MemorySearchRequest.safeParse({ query: 'x', ...request });
    expect(parsed.error?.issues[0]?.path[0]).toBe(field);
  });
});
