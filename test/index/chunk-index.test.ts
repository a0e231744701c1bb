import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { TableCopies } from '../../src/index/copies/table-copies.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { describeChunkIndex } from '../conformance/chunk-index.ts';
import { makeDataDir } from '../support/appliance.ts';

describe.each([
  ['LanceDB alone', null],
  ['LanceDB with exact copies in memory', { largeRows: 1_000 }],
  ['LanceDB with large copies in memory', { largeRows: 0 }],
])('%s', (_, forms) => {
  const { dataDir, remove } = makeDataDir();
  let own: LanceIndex;
  let other: LanceIndex;
  const openIndex = () => {
    const directory = path.join(dataDir, 'index');
    mkdirSync(directory, { recursive: true });
    const options = { maxBytes: 2 ** 28, scratchIn: dataDir, threadsMax: 2, logger: openLogger('error') };
    return new LanceIndex(new LanceTables(directory), forms && new TableCopies({ ...options, ...forms }));
  };
  beforeAll(() => {
    own = openIndex();
    other = openIndex();
  });
  afterAll(async () => {
    await other.close();
    await own.close();
    remove();
  });
  describeChunkIndex(() => ({ own, other }));
});
