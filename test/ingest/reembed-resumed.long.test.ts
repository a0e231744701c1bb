import { expect, it } from 'vitest';
import { findReindexRun } from '../../src/index/writing/reindex-store.ts';
import { readArtifact } from '../../src/ingest/artifact-store.ts';
import { embedTextOf } from '../../src/ingest/prepare-chunks.ts';
import { planReembed } from '../../src/ingest/reindex/plan-reembed.ts';
import { reindexBucket } from '../../src/ingest/reindex/reindex-bucket.ts';
import { until } from '../support/until.ts';
import { failure, native, reprojectionUnderTest, signal, texts } from './reprojection-under-test.ts';

const under = reprojectionUnderTest();
const MODEL = native(0);
/** Chunks of one batch, at most. */
const BATCH_CHUNKS = 1_024;

/** Read the texts that the model is given for the chunks of each document, by its id. */
async function readTexts(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const row of (await under.contents()).live) {
    const { chunks } = await readArtifact(under.test.appliance.objects, row['artifact_key'] as string);
    found.set(
      row['id'] as string,
      chunks.map((chunk) => embedTextOf(chunk)),
    );
  }
  return found;
}

/** Divide documents into the batches of a run. */
function batchesOf(textsOf: ReadonlyMap<string, readonly string[]>): string[][] {
  const batches: string[][] = [];
  let chunks = Number.POSITIVE_INFINITY;
  for (const [id, own] of textsOf) {
    chunks += own.length;
    if (chunks > BATCH_CHUNKS) {
      batches.push([]);
      chunks = own.length;
    }
    batches.at(-1)?.push(id);
  }
  return batches;
}

function reembed(options: { signal: AbortSignal; onProgress?: () => void }, context = under.context) {
  const { operator, appliance } = under.test;
  const makePlan = () => planReembed(appliance.ingest.reembed, operator, { bucket: under.bucket.name, model: MODEL });
  return reindexBucket(context, operator, makePlan, { ...options, detail: () => ({}) });
}

it('a bucket that is embedded again goes on after a stop, and no chunk that was written is embedded twice', async () => {
  // Documents of about 450 chunks, of which a batch has two.
  const long = (seed: number) => texts(1_500, seed).join('. ');
  await under.ingest('local/lexical-1', [30, 31, 32, 33, 34, 35].map(long), 'long', {
    ...{ chunk_size: 64, chunk_overlap: 0 },
  });
  const textsOf = await readTexts();
  const batches = batchesOf(textsOf);
  // One batch is stored before the stop: whichever has its vectors first.
  let stored: readonly string[] | undefined;
  const stop = new AbortController();
  const context = under.beforePut(async (key) => {
    const own = batches.find((ids) => ids.some((id) => key.includes(`/${id}/`)));
    stored ??= own;
    if (own === stored) return;
    await until(async () => stop.signal.aborted, { withinMs: 120_000, what: 'the stop' });
    throw stop.signal.reason;
  });
  const options = { signal: stop.signal, onProgress: () => stop.abort(new Error('stop')) };
  expect((await failure(reembed(options, context)))?.message).toBe('stop');

  const { sql } = under.test.appliance;
  const run = await findReindexRun(sql, under.bucket.id);
  const table = await under.test.appliance.search.lance.tables.openForWriting(run?.tableName as string);
  const rows = await table.query().select(['document_id']).toArray();
  const written = new Set(rows.map((row) => row.document_id as string));
  expect(written).toEqual(new Set(stored));
  const before = under.test.upstream.calls.length;
  await reembed({ signal });

  const wanted = [...textsOf].flatMap(([id, own]) => (written.has(id) ? [] : own));
  const sent = under.test.upstream.calls.slice(before).flatMap((call) => call.texts);
  expect(new Set(sent)).toEqual(new Set(wanted));
  expect(sent.length).toBeLessThanOrEqual(wanted.length);
  expect((await under.contents()).space).toBe(`native:${MODEL}@1`);
  await under.sweep();
  await under.expectExact();
}, 180_000);
