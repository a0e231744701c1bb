import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { makeDataDir } from '../support/appliance.ts';

let directory: ReturnType<typeof makeDataDir>;
let uri: string;
const opened: LanceTables[] = [];

beforeEach(() => {
  directory = makeDataDir();
  uri = path.join(directory.dataDir, 'index');
});
afterEach(async () => {
  for (const tables of opened.splice(0)) await tables.close();
  directory.remove();
});

function open(): LanceTables {
  const tables = new LanceTables(uri);
  opened.push(tables);
  return tables;
}

it('a table that does not exist is null for readers, also beside others, and is found once it was written', async () => {
  const [writer, reader] = [open(), open()];
  await writer.openForWriting('bkt_a');
  expect(await reader.openForReading('bkt_b', 1)).toBeNull();
  await writer.openForWriting('bkt_b');
  expect((await reader.openForReading('bkt_b', 1))?.name).toBe('bkt_b');
  await writer.drop('bkt_b');
  expect(await open().openForReading('bkt_b', 1)).toBeNull();
});

it('a damaged table is an error for readers, not one that does not exist', async () => {
  const [writer, reader] = [open(), open()];
  await writer.openForWriting('bkt_a');
  rmSync(path.join(uri, 'bkt_a.lance', '_versions'), { recursive: true });
  await expect(reader.openForReading('bkt_a', 1)).rejects.toThrow();
});

it('an index whose directory is gone does not answer', async () => {
  const tables = open();
  await tables.openForWriting('bkt_a');
  await tables.probe();
  rmSync(uri, { recursive: true });
  await expect(tables.probe()).rejects.toMatchObject({ code: 'index_unavailable' });
});
