/**
 * Benchmark of the ingest of one large table with the built-in model, by a worker process that does nothing else: time
 * of each phase, and peak memory of the process and of each kind of its children. An argument sets the megabytes, 100
 * by default.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { peakMb, watchChildMemory } from './child-memory.ts';

const MB = 1e6;
const BYTES = Number(process.argv[2] ?? 100) * MB;
const ROWS_PER_WRITE = 1_000;

function* makeTable(): Generator<string> {
  const header = 'id,이름,city,amount,comment\n';
  yield header;
  let row = 0;
  for (let bytes = header.length; bytes < BYTES; ) {
    let text = '';
    for (let i = 0; i < ROWS_PER_WRITE; i++) {
      row++;
      text += `${row},사람 ${row},Seoul,${(row * 37) % 100_000}.${row % 100},"a comment, with words about item ${row}"\n`;
    }
    bytes += Buffer.byteLength(text);
    yield text;
  }
}

const { dataDir, remove } = makeDataDir();
const file = join(dataDir, 'table.csv');
await pipeline(Readable.from(makeTable()), createWriteStream(file));
const { size } = await stat(file);
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
// Use the operators' script, which sets a worker's flags.
const service = fileURLToPath(new URL('../../bin/service', import.meta.url));
const worker = spawn(service, ['worker', 'ingest', '--json', '--data-dir', dataDir], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const pid = worker.pid as number;
try {
  await once(createInterface({ input: worker.stdout }), 'line');
  const operator = await appliance.access.operator('default');
  const children = watchChildMemory(pid);
  const beforeMb = peakMb(pid);
  const began = performance.now();
  const content = { file, fileName: 'table.csv', contentType: 'text/csv' };
  const { job_id: jobId } = await uploadDocument(
    appliance.ingest.uploads,
    operator,
    'default',
    content,
    UploadRequest.parse({}),
  );
  const phases: string[] = [];
  let phase = '';
  let since = began;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  let job: Record<string, unknown> = {};
  while (phase !== 'ready' && phase !== 'failed') {
    [job = {}] = await appliance.sql`SELECT status, chunks_count, error_message FROM jobs WHERE id = ${jobId}`;
    if (job['status'] !== phase) {
      if (phase !== '') phases.push(`${phase} ${seconds(performance.now() - since)}`);
      phase = job['status'] as string;
      since = performance.now();
    }
    await setTimeout(20);
  }
  if (phase === 'failed') throw new Error(String(job['error_message']));
  console.log(
    `large    table of ${(size / MB).toFixed(0)} MB: ${job['chunks_count']} chunks in ${seconds(performance.now() - began)} ` +
      `(${phases.join(', ')})`,
  );
  // The index is settled after the job, which may take the most memory.
  while ((await appliance.sql`SELECT 1 FROM index_tables WHERE NOT settled`).length > 0) await setTimeout(100);
  const kinds = Array.from(children.stop(), ([name, mb]) => `, ${name} ${mb.toFixed(0)} MB`);
  console.log(
    `large    index settled after ${seconds(performance.now() - began)}; peak memory: ` +
      `worker ${peakMb(pid).toFixed(0)} MB (${beforeMb.toFixed(0)} MB before)${kinds.join('')}`,
  );
} finally {
  worker.kill('SIGTERM');
  await once(worker, 'exit');
  await appliance.close();
  remove();
}
