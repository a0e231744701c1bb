/**
 * Benchmark of reprojecting a bucket from stored native vectors: 20,000 chunks of 1,536 dimensions, in place and into a
 * new table.
 */

import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { artifactKey } from '../../src/documents/documents.ts';
import { encodeArtifact } from '../../src/ingest/artifact.ts';
import { registerGenerations } from '../../src/ingest/generation-store.ts';
import { toHalves } from '../../src/ingest/half-floats.ts';
import { type ReindexContext, reprojectBucket } from '../../src/ingest/reindex/reindex-bucket.ts';
import { analyse } from '../../src/language/analyser.ts';
import { Catalog } from '../../src/models/catalog.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { loadMap } from '../../src/projection/kernel/loaded-map.ts';
import { packPanels } from '../../src/projection/kernel/pack-panels.ts';
import { projectRows } from '../../src/projection/kernel/project-rows.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { makeDataDir } from '../support/appliance.ts';
import { originIn } from '../support/origins.ts';
import { createRandom } from '../support/random.ts';
import { syntheticTexts } from '../support/synthetic-models.ts';

const DOCUMENTS = 1_000;
const CHUNKS = 20;
const NATIVE = 1_536;
const MODEL = 'bench/model';
/** Words of a chunk of about 400 tokens. */
const WORDS_OF_CHUNK = 300;

const { dataDir, remove } = makeDataDir();
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
try {
  const { sql, objects, threads } = appliance;
  const { reindex } = appliance.ingest;
  const operator = await appliance.access.operator('default');
  const [bucket] = await sql`SELECT id FROM buckets`;
  const bucketId = bucket?.['id'] as string;
  const random = createRandom(1).real;
  const numbers = (count: number) => Float32Array.from({ length: count }, () => random() - 0.5);
  const words = syntheticTexts(WORDS_OF_CHUNK / 5)
    .map(({ text }) => text)
    .join(' ');
  const model = new Catalog([{ id: MODEL, vendor: 'bench', dimensions: NATIVE, maxTokens: 512 }]).find(MODEL);
  const loaded = loadMap({
    ...{ nativeDimension: NATIVE, dimensions: INDEX_DIMENSIONS, mean: numbers(NATIVE) },
    packed: packPanels(numbers(NATIVE * INDEX_DIMENSIONS), NATIVE, INDEX_DIMENSIONS),
  });
  const contextOf = (version: number): ReindexContext => {
    const map = {
      ...{ space: 'canon-v1', version, score: 1, rank: INDEX_DIMENSIONS },
      project: (native: Float32Array, d: number, signal?: AbortSignal) =>
        projectRows(threads, loaded, native, d, signal),
    };
    return { ...reindex, findModel: () => model, projections: { mapOf: () => map, stateOf: () => null } };
  };

  const space = `native:${MODEL}@1`;
  for (let nth = 0; nth < DOCUMENTS; nth++) {
    const documentId = `doc_bench${nth}`;
    const generation = nth + 1;
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                             active_generation, chunks_count)
      VALUES (${documentId}, ${operator.orgId}, ${bucketId}, 'f', 1, '', 'k', '{}', 'ready', ${generation}, ${CHUNKS})`;
    const key = artifactKey(operator.orgId, documentId, generation);
    await registerGenerations(sql, [
      {
        ...{ id: generation, orgId: operator.orgId, bucketId, documentId, jobId: 'job_bench', artifactKey: key },
        ...{ chunksCount: CHUNKS, embedModel: MODEL, embedRevision: '1', space, mapVersion: null },
        ...{ nativeDimension: NATIVE, hasText: true, replaces: null },
      },
    ]);
    const vectors = numbers(CHUNKS * INDEX_DIMENSIONS);
    const native = { dimension: NATIVE, revision: '1', vectors: toHalves(numbers(CHUNKS * NATIVE)) };
    const locator = { page: null, heading_path: [], start: 0, end: words.length };
    const chunks = Array.from({ length: CHUNKS }, (_, index) => ({
      ...{
        id: `${documentId}_${generation}_${index}`,
        index,
        text: `${words} ${nth} ${index}`,
        token_count: 400,
        locator,
      },
    }));
    const about = { documentId, generation, model: MODEL, space, mapVersion: null, dimensions: INDEX_DIMENSIONS };
    await objects.put(key, encodeArtifact({ ...about, chunks, vectors, native }));
    // A few rows are enough to create the table, since a reindex doesn't read it.
    if (nth > 0) continue;
    await reindex.index.append(
      bucketId,
      {
        vectors,
        chunks: chunks.map(({ id, index, text }) => ({
          ...{ chunkId: id, documentId, generation, collectionId: null, chunkIndex: index, text, locator },
          ...{ tokens: analyse(text).join(' '), modality: 'text' as const, privacyLevel: 1, eventTimeMs: null },
        })),
      },
      originIn(space),
    );
  }
  await sql`SELECT setval('document_generations', ${DOCUMENTS + 1})`;

  console.log(`reproject from ${Math.round(process.memoryUsage().rss / 2 ** 20)} MB`);
  for (const version of [1, 2]) {
    const beganMs = performance.now();
    const cpuBefore = process.cpuUsage();
    let peakBytes = 0;
    const report = await reprojectBucket(
      contextOf(version),
      operator,
      { bucket: bucketId, models: [MODEL] },
      {
        signal: new AbortController().signal,
        onProgress: () => {
          peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
        },
      },
    );
    const seconds = (performance.now() - beganMs) / 1000;
    const cpu = process.cpuUsage(cpuBefore);
    console.log(
      `reproject ${report.mode.padEnd(9)} ${report.chunks} chunks of ${NATIVE}: ${(report.chunks / seconds).toFixed(0)} chunks/s, ${((cpu.user + cpu.system) / 1000 / report.chunks).toFixed(2)} ms CPU each, ${Math.round(peakBytes / 2 ** 20)} MB`,
    );
  }
} finally {
  await appliance.close();
  remove();
}
