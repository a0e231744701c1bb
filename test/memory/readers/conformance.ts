import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SourceView, SyncCounts } from '../../../src/memory/schema.ts';
import { openTestAppliance } from '../../support/appliance.ts';
import { addSource, countIngestJobs, sync, syncWorker } from '../../support/memory.ts';
import type { SourcePlace } from './places/place.ts';

const NONE: SyncCounts = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };

/** Names that places and protocols write in different ways. The second and third differ in their Unicode form only. */
const ODD_NAMES = [
  'a b.txt',
  'Caf\u00e9.txt',
  '보고서.txt',
  '100% #1 a&b=c;d.txt',
  "it's [1] (2).txt",
  '\u{1f426}.txt',
];

/** Content above the size that is read into memory at once. */
const LARGE = 'A line about tides and the harbour.\n'.repeat(150_000);

/** Place of one type, a source that reads it, and a worker that synchronises the source. */
interface OpenedReader {
  readonly place: SourcePlace;
  /** Synchronise the source, and return it afterwards. */
  sync(): Promise<SourceView>;
  /** Synchronise the source without a failure, and return the counts. */
  counts(): Promise<SyncCounts>;
  /** Count the documents that were given to ingestion so far. */
  jobs(): Promise<number>;
  documents(): Promise<readonly Record<string, unknown>[]>;
  close(): Promise<void>;
}

async function openPlace(open: () => Promise<SourcePlace>): Promise<OpenedReader> {
  const place = await open();
  const test = await openTestAppliance({ sources: { place: place.connection } });
  const worker = syncWorker(test);
  await worker.start();
  const { sql } = test.appliance;
  const { id } = await addSource(test, { name: 'place', connection: 'place', config: place.config });
  return {
    place,
    sync: () => sync(test, id),
    async counts() {
      const source = await sync(test, id);
      expect(source.sync_state, source.error_message ?? '').toBe('idle');
      return source.counts;
    },
    jobs: () => countIngestJobs(sql),
    documents: async () => sql`SELECT * FROM documents WHERE source_id = ${id} AND status <> 'deleting' ORDER BY id`,
    async close() {
      await worker.stop();
      await test.close();
      await place.close();
    },
  };
}

/**
 * Check that a reader keeps the contract of `SourceReader`: every type of source passes the same tests.
 *
 * @param open opens an empty place
 * @param options.denies true for a place that has rights of single entries
 */
export function checkReader(
  what: string,
  open: () => Promise<SourcePlace>,
  { denies = false }: { readonly denies?: boolean } = {},
): void {
  const reader: OpenedReader = {} as OpenedReader;
  describe(`the reader of ${what}`, () => {
    beforeAll(async () => void Object.assign(reader, await openPlace(open)));
    afterAll(() => reader.close?.());
    checkChanges(reader);
    checkEntries(reader);
    if (denies) checkDenial(reader);
    checkVanishing(reader);
  });
}

function checkChanges(reader: OpenedReader): void {
  it('adds every entry at first, and does nothing when nothing has changed', async () => {
    for (let nth = 0; nth < 10; nth++) await reader.place.write(`entry-${nth}.txt`, `The text of entry ${nth}.`);
    expect(await reader.counts()).toEqual({ ...NONE, added: 10 });
    expect(await reader.jobs()).toBe(10);
    expect(await reader.counts()).toEqual({ ...NONE, unchanged: 10 });
    expect(await reader.jobs()).toBe(10);
  });

  it('sees a change, a new entry, and a removed one', async () => {
    await reader.place.write('entry-1.txt', 'Another text of entry 1.');
    await reader.place.write('entry-new.txt', 'The text of a new entry.');
    await reader.place.remove('entry-2.txt');
    const changes = reader.place.isImmutable ? { added: 2, removed: 2 } : { added: 1, changed: 1, removed: 1 };
    expect(await reader.counts()).toEqual({ ...NONE, ...changes, unchanged: 8 });
    expect(await reader.jobs()).toBe(12);
  });

  it('keeps the document of a renamed entry, and embeds nothing', async () => {
    const before = await reader.documents();
    await reader.place.rename('entry-3.txt', 'entry-moved.txt');
    expect(await reader.counts()).toEqual({ ...NONE, renamed: 1, unchanged: 9 });
    expect(await reader.jobs()).toBe(12);
    expect((await reader.documents()).map((document) => document['id'])).toEqual(
      before.map((document) => document['id']),
    );
  });

  it('does no work for an entry that is written again with the same content', async () => {
    await reader.place.write('entry-4.txt', 'The text of entry 4.', new Date('2024-05-06T07:08:09Z'));
    const same = reader.place.isImmutable ? { renamed: 1, unchanged: 9 } : { unchanged: 10 };
    expect(await reader.counts()).toEqual({ ...NONE, ...same });
    expect(await reader.jobs()).toBe(12);
  });
}

function checkEntries(reader: OpenedReader): void {
  it('reads entries of every name', async () => {
    for (const name of ODD_NAMES) await reader.place.write(name, `The text of ${name}.`);
    expect(await reader.counts()).toEqual({ ...NONE, added: ODD_NAMES.length, unchanged: 10 });
    expect(await reader.counts()).toEqual({ ...NONE, unchanged: 10 + ODD_NAMES.length });
    for (const name of ODD_NAMES) await reader.place.remove(name);
    expect(await reader.counts()).toEqual({ ...NONE, removed: ODD_NAMES.length, unchanged: 10 });
  });

  it('streams a large entry, and makes no document of an empty one', async () => {
    const before = (await reader.documents()).length;
    await reader.place.write('large.txt', LARGE);
    const isEmptyPossible = reader.place.isImmutable !== true;
    if (isEmptyPossible) await reader.place.write('empty.txt', '');
    await reader.counts();
    const after = await reader.documents();
    expect(after.length).toBe(before + 1);
    expect(Math.max(...after.map((document) => document['size_bytes'] as number))).toBeGreaterThanOrEqual(LARGE.length);
    expect((await reader.counts()).unchanged).toBe(isEmptyPossible ? 12 : 11);
    await reader.place.remove('large.txt');
    if (isEmptyPossible) await reader.place.remove('empty.txt');
    await reader.counts();
  });

  it('is not misled by times of the past and the future', async () => {
    await reader.place.write('old.txt', 'A text of long ago.', new Date('1981-01-01T00:00:00Z'));
    await reader.place.write('future.txt', 'A text of later.', new Date('2037-01-01T00:00:00Z'));
    expect(await reader.counts()).toMatchObject({ added: 2, failed: 0 });
    const before = await reader.jobs();
    expect(await reader.counts()).toEqual({ ...NONE, unchanged: 12 });
    expect(await reader.jobs()).toBe(before);
  });
}

function checkDenial(reader: OpenedReader): void {
  it('keeps the document of an entry that it may not read, names it, and reads the others', async () => {
    await reader.place.write('denied.txt', 'The text that will be denied.');
    expect(await reader.counts()).toMatchObject({ added: 1 });
    const before = (await reader.documents()).length;
    await reader.place.deny?.('denied.txt');
    await reader.place.write('beside.txt', 'The text of another entry.');
    const source = await reader.sync();
    expect(source).toMatchObject({ sync_state: 'idle', counts: { added: 1, failed: 1, removed: 0 } });
    expect(source.error_message).toContain('denied.txt');
    expect((await reader.documents()).length).toBe(before + 1);
  });
}

function checkVanishing(reader: OpenedReader): void {
  it('keeps all documents when the place vanishes, says why, and goes on when it is back', async () => {
    const before = (await reader.documents()).length;
    const entries = (await reader.counts()).unchanged;
    const restore = await reader.place.vanish();
    const failed = await reader.sync();
    expect(failed).toMatchObject({ sync_state: 'error', error_category: expect.stringMatching(/^source_/) });
    expect(failed.error_message).toMatch(/\w+ \w+/);
    expect((await reader.documents()).length).toBe(before);
    await restore();
    expect((await reader.counts()).unchanged).toBe(entries);
  });
}
