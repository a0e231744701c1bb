/**
 * Benchmark of what the driver adds to the requests of a search of Milvus: both legs, ten passages and ten cosines, beside
 * the same four requests of the client alone, in turn. CPU time is that of this process, without the server. The server is
 * Milvus Lite, whose own times mean little. It also looks up some of the chunks by their own text, whatever the number of
 * chunks. Arguments: chunks, searches, and words of a chunk.
 */
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import type { ChunkReader } from '../../src/index/chunk-index.ts';
import { writeQuery } from '../../src/index/milvus/encode-terms.ts';
import { loadMilvus } from '../../src/index/milvus/load-milvus.ts';
import { MilvusIndex } from '../../src/index/milvus/milvus-index.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { drawText, generationOf, randomFrom } from '../index/draw-rows.ts';
import { findServers } from '../support/find-servers.ts';
import { startMilvus } from '../support/milvus-server.ts';

const CHUNKS = Number(process.argv[2] ?? 5_000);
const SEARCHES = Number(process.argv[3] ?? 200);
const WORDS = Number(process.argv[4] ?? 80);
/** Chunks of an append. Each append reads the version, for which Milvus Lite reads all rows. */
const APPENDED = 20_000;
const WARM_UP = 20;
const LIMIT = 61;
const RESULTS = 10;
/** Number of chunks to look up by their own text. */
const PROBES = 50;
const INSTALLATION = 'org_bench';
const TABLE = 'bkt_bench_milvus';
const COLLECTION = `${INSTALLATION}_${TABLE}`;
const COLUMNS = ['chunk_id', 'document_id', 'generation', 'chunk_index', 'is_boilerplate'];
/** Goal: overhead that the driver adds to the requests. */
const OVERHEAD_MS_MAX = 5;

if (findServers().milvus) await run();
else console.log('milvus   skipped: there is no milvus-lite on this machine');

async function run(): Promise<void> {
  const milvus = await startMilvus();
  const index = new MilvusIndex(milvus.settings, INSTALLATION);
  const client = new (loadMilvus().MilvusClient)({
    address: milvus.settings.url,
    logLevel: 'error',
    maxRetries: 0,
    telemetry: { enabled: false },
  });
  try {
    const random = randomFrom(62);
    const beganMs = performance.now();
    const probes: { readonly number: number; readonly text: string }[] = [];
    const chunkOf = (number: number) => {
      const text = drawText(random, WORDS);
      if (number % Math.ceil(CHUNKS / PROBES) === 0) probes.push({ number, text });
      return generationOf(number, [text]);
    };
    for (let nth = 1; nth <= CHUNKS; nth += APPENDED) {
      const count = Math.min(APPENDED, CHUNKS - nth + 1);
      await index.append(
        TABLE,
        Array.from({ length: count }, (_, at) => chunkOf(nth + at)),
      );
    }
    const rate = CHUNKS / ((performance.now() - beganMs) / 1_000);
    console.log(`milvus   ${CHUNKS} chunks appended, ${rate.toFixed(0)} per second`);
    // Milvus Lite is slow at searching unflushed rows.
    await index.expunge(TABLE, { publish: async () => undefined });
    const version = await index.version(TABLE);
    await lookUp(index, version, probes);
    const texts = Array.from({ length: SEARCHES + WARM_UP }, () => drawText(random, 5));

    const byDriver = async (text: string) => {
      const reader = (await index.open([{ name: TABLE, version }])) as ChunkReader;
      const vector = embedLexical([text]);
      const options = { limit: LIMIT - 1, documentIds: null };
      const [found] = await Promise.all([
        reader.searchKeywords(weighTerms(analyse(text)), options),
        reader.searchVectors(vector, options),
      ]);
      const best = found.slice(0, RESULTS);
      await Promise.all([reader.readPassages(best), reader.readCosines(vector, best)]);
    };
    const byClient = async (text: string) => {
      const base = { collection_name: COLLECTION, output_fields: COLUMNS, limit: LIMIT };
      const vector = Array.from(embedLexical([text]));
      const data = writeQuery(weighTerms(analyse(text))).text;
      const [{ results }] = await Promise.all([
        client.search({ ...base, anns_field: 'terms', metric_type: 'BM25', data }),
        client.search({ ...base, anns_field: 'vector', metric_type: 'IP', data: vector }),
      ]);
      const ids = results.slice(0, RESULTS).map((row) => `'${row['chunk_id']}'`);
      const filter = `chunk_id in [${ids.join(', ')}]`;
      await Promise.all(
        [
          ['chunk_id', 'text', 'locator'],
          ['chunk_id', 'vector'],
        ].map((output_fields) => client.query({ collection_name: COLLECTION, filter, output_fields, limit: RESULTS })),
      );
    };
    const measured = { driver: { wall: [] as number[], cpu: 0 }, client: { wall: [] as number[], cpu: 0 } };
    for (const [nth, text] of texts.entries()) {
      for (const [name, search] of [
        ['driver', byDriver],
        ['client', byClient],
      ] as const) {
        const began = { ms: performance.now(), cpu: process.cpuUsage() };
        await search(text);
        if (nth < WARM_UP) continue;
        const cpu = process.cpuUsage(began.cpu);
        measured[name].wall.push(performance.now() - began.ms);
        measured[name].cpu += (cpu.user + cpu.system) / 1_000;
      }
    }
    const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;
    const [driver, own] = [measured.driver, measured.client].map(({ wall, cpu }) => ({
      ms: median(wall),
      cpuMs: cpu / SEARCHES,
    })) as [{ ms: number; cpuMs: number }, { ms: number; cpuMs: number }];
    const addedMs = driver.cpuMs - own.cpuMs;
    console.log(
      `milvus   a search takes ${driver.ms.toFixed(1)} ms (client alone ${own.ms.toFixed(1)}), ${driver.cpuMs.toFixed(2)} ms of it CPU of this process (client alone ${own.cpuMs.toFixed(2)})`,
    );
    console.log(`milvus   the driver adds ${addedMs.toFixed(2)} ms of CPU; goal ${OVERHEAD_MS_MAX} ms`);
    if (addedMs > OVERHEAD_MS_MAX) process.exitCode = 1;
  } finally {
    await client.closeConnection();
    await index.close();
    await milvus.drop();
  }
}

/** Report the number of chunks that are the first result for their own text in each leg, and the number of rows. */
async function lookUp(
  index: MilvusIndex,
  version: number,
  probes: readonly { readonly number: number; readonly text: string }[],
): Promise<void> {
  const table = { name: TABLE, version };
  const reader = (await index.open([table])) as ChunkReader;
  const options = { limit: LIMIT - 1, documentIds: null };
  const first = { words: 0, vectors: 0 };
  for (const { number, text } of probes) {
    const own = `doc_${number}`;
    const words = await reader.searchKeywords(weighTerms(analyse(text)), options);
    const vectors = await reader.searchVectors(embedLexicalPassages([text]), options);
    if (words[0]?.documentId === own) first.words++;
    if (vectors[0]?.documentId === own) first.vectors++;
  }
  const rows = (await index.statistics(table))?.rows;
  console.log(
    `milvus   of ${probes.length} chunks, ${first.words} are first by their words and ${first.vectors} by their vector; ${rows} rows`,
  );
}
