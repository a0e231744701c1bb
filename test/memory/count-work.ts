import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DeleteObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { expect } from 'vitest';
import type { SyncCounts } from '../../src/memory/schema.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import type { TestAppliance } from '../support/appliance.ts';
import { addSource, countIngestJobs, sync } from '../support/memory.ts';

/** Number of entries at first, and of those that change, vanish and come. */
export interface Sizes {
  readonly entries: number;
  readonly changed: number;
  readonly removed: number;
  readonly added: number;
}

/** Place whose entries a test writes; `text` is the content of an entry. */
interface Place {
  write(index: number, text: string): Promise<void> | void;
  remove(index: number): Promise<void> | void;
}

/** Sync a source, change it, and check that the second synchronisation does exactly the work of the changes. */
export async function checkWork(
  test: TestAppliance,
  source: { name: string; connection: string; config: Record<string, unknown> },
  place: Place,
  sizes: Sizes,
): Promise<void> {
  const { entries, changed, removed, added } = sizes;
  const none: SyncCounts = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };
  const each = async (from: number, to: number, work: (index: number) => Promise<void> | void) => {
    const indexes = Array.from({ length: to - from }, (_, i) => from + i).values();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (const index of indexes) await work(index);
      }),
    );
  };
  const jobsBefore = await countIngestJobs(test.appliance.sql);
  await each(0, entries, (i) => place.write(i, `Text of entry ${i}.`));
  const { id } = await addSource(test, source);
  const first = await sync(test, id);
  expect(first).toMatchObject({ sync_state: 'idle', error_message: null, counts: { ...none, added: entries } });
  expect((await countIngestJobs(test.appliance.sql)) - jobsBefore).toBe(entries);

  await each(0, changed, (i) => place.write(i, `Another text of entry ${i}.`));
  await each(changed, changed + removed, (i) => place.remove(i));
  await each(entries, entries + added, (i) => place.write(i, `Text of the new entry ${i}.`));
  const second = await sync(test, id);
  expect(second.counts).toEqual({ ...none, added, changed, removed, unchanged: entries - changed - removed });
  expect((await countIngestJobs(test.appliance.sql)) - jobsBefore).toBe(entries + added + changed);

  const third = await sync(test, id);
  expect(third.counts).toEqual({ ...none, unchanged: entries - removed + added });
  expect((await countIngestJobs(test.appliance.sql)) - jobsBefore).toBe(entries + added + changed);
}

/** Time of files that a synchronisation takes to be settled. */
const LONG_AGO = new Date('2024-03-01T12:00:00Z');

export function folderPlace(folder: string): Place {
  const fileOf = (index: number) => path.join(folder, String(index % 40), `file-${index}.txt`);
  return {
    write(index, text) {
      mkdirSync(path.dirname(fileOf(index)), { recursive: true });
      writeFileSync(fileOf(index), text);
      utimesSync(fileOf(index), LONG_AGO, LONG_AGO);
    },
    remove: (index) => rmSync(fileOf(index)),
  };
}

export function tablePlace(sql: Sql, table: string): Place {
  return {
    async write(index, text) {
      await sql`
        INSERT INTO ${sql(table)} (id, title, body) VALUES (${index}, ${`Row ${index}`}, ${text})
        ON CONFLICT (id) DO UPDATE SET body = excluded.body`;
    },
    async remove(index) {
      await sql`DELETE FROM ${sql(table)} WHERE id = ${index}`;
    },
  };
}

export function s3Place(client: S3Client, Bucket: string): Place {
  const keyOf = (index: number) => `docs/${index % 7}/object-${index}.txt`;
  return {
    async write(index, text) {
      await client.send(new PutObjectCommand({ Bucket, Key: keyOf(index), Body: text }));
    },
    async remove(index) {
      await client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(index) }));
    },
  };
}
