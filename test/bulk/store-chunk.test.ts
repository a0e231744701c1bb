import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { BulkJob } from '../../src/bulk/store.ts';
import { findStoredChunk, storeChunk } from '../../src/bulk/store-chunk.ts';
import { LeaseLost } from '../../src/jobs/lease.ts';
import { openDiskObjects } from '../../src/platform/objects/disk.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import { makeDataDir } from '../support/appliance.ts';

const job = { id: 'job_x', orgId: 'org_x', inputCount: 3, chunkSize: 100, vectorDimensions: 2 } as BulkJob;
const held = { confirm: async () => {} };
const lost = {
  confirm: async () => {
    throw new LeaseLost('job_x');
  },
};
const chunk = (space: string, first: number) => ({
  ...{ vectors: Float32Array.of(first, 0, 0, 1, 1, 0), dimensions: 2, space },
  ...{ used: [{ model: 'm', texts: 3, tokens: 9 }], cost: 0 },
});

let place: ReturnType<typeof makeDataDir>;
let objects: Objects;
beforeEach(async () => {
  place = makeDataDir();
  objects = await openDiskObjects({ directory: path.join(place.dataDir, 'objects') });
});
afterEach(() => place.remove());

const firstFloat = async () => {
  const stored = await findStoredChunk(objects, job, 0);
  return stored && new Float32Array(Uint8Array.from(stored.bytes.subarray(0, 4)).buffer)[0];
};

it('a stored chunk of the same latent space is kept', async () => {
  await storeChunk(objects, held, job, 0, chunk('a', 1));
  expect((await storeChunk(objects, held, job, 0, chunk('a', 2))).space).toBe('a');
  expect(await firstFloat()).toBe(1);
});

it('a stored chunk of another latent space is replaced, unless the job was lost meanwhile', async () => {
  await storeChunk(objects, held, job, 0, chunk('a', 1));
  await expect(storeChunk(objects, lost, job, 0, chunk('b', 2))).rejects.toBeInstanceOf(LeaseLost);
  expect(await firstFloat()).toBe(1);
  await storeChunk(objects, held, job, 0, chunk('b', 2));
  expect(await firstFloat()).toBe(2);
});
