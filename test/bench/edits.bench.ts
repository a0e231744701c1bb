/**
 * Benchmark of an edit of metadata that is not part of the indexed text: the time from the request until a search finds
 * the document again, for a document of 1,000 chunks. First each edit waits until the index has settled, which begins a
 * second after the last; then each comes at once, so that some wait for the index to be settled between commits.
 */
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { editDocument } from '../../src/metadata/edit-document.ts';
import { SingleEdit } from '../../src/metadata/schema.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { makeDataDir } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { untilSettled } from '../support/settled.ts';
import { until } from '../support/until.ts';

const ROUNDS = 10;
/** Sentences of 20 words, of which a chunk has about 6: some 1,000 chunks. */
const SENTENCES = 5_840;

const { dataDir, remove } = makeDataDir();
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
const worker = appliance.jobs.worker('ingest');
const operator = await appliance.access.operator('default');

function sentence(number: number): string {
  const words = Array.from({ length: 18 }, (_, at) => `word${(number * 31 + at * at * 7) % 5_000}`);
  return `Sentence ${number} ${words.join(' ')}.`;
}

try {
  await worker.start(new AbortController().signal);
  const text = Array.from({ length: SENTENCES }, (_, number) => sentence(number)).join(' ');
  const { idOf } = await ingestAll(appliance, operator, 'default', [{ id: 'long', fileName: 'long.txt', text }]);
  const [id] = idOf.keys() as unknown as [string];
  const [row] = await appliance.sql`SELECT chunks_count FROM documents WHERE id = ${id}`;
  const request = SearchRequest.parse({ query: sentence(5), top_k: 1 });
  let edits = 0;
  /** Edit the document, and return the milliseconds until a search finds it again. */
  const editAndFind = async () => {
    const beganMs = performance.now();
    const review_status = ++edits % 2 === 0 ? 'approved' : 'rejected';
    const edit = SingleEdit.parse({ metadata: { team: `team-${edits}` }, review_status });
    const reply = await editDocument(appliance.metadata, operator, 'default', id, edit);
    if (!reply.reindex_queued) throw new Error('no job was queued');
    await until(
      async () => (await searchBucket(appliance.search, operator, 'default', request)).results[0]?.document_id === id,
      { withinMs: 60_000, everyMs: 10 },
    );
    return performance.now() - beganMs;
  };
  const series = { 'each after the index has settled': true, 'one right after the other': false };
  for (const [name, waits] of Object.entries(series)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      if (waits) await untilSettled(appliance.sql, 'default');
      times.push(await editAndFind());
    }
    times.sort((a, b) => a - b);
    console.log(
      `edits, ${name}: a document of ${row?.['chunks_count']} chunks is found again after ` +
        `${times.map((ms) => ms.toFixed(0)).join(' ')} ms, median ${(times[ROUNDS / 2] as number).toFixed(0)} ms (goal 1000)`,
    );
  }
} finally {
  await worker.stop();
  await appliance.close();
  remove();
}
