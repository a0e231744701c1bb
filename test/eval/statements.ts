/**
 * `npm run eval -- statements`: check of statements against a small interpreter in memory. 100,000 statements of the
 * whole grammar must find the same documents in PostgreSQL, 5,000 must change the same ones, and 100,000 damaged or
 * random strings must be answered without a fault and without a change.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { migrate } from '../../src/platform/migrate.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { checkEffects } from '../metadata/check-effects.ts';
import { checkMatches } from '../metadata/check-matches.ts';
import { checkNoise } from '../metadata/check-noise.ts';
import { fingerprint, openSample, type Sample } from '../metadata/sample.ts';

const STATEMENTS = 100_000;
const CHANGES = 5_000;
const STRINGS = 100_000;
/** Number of parts of a run. Each has its own seed and is reported when it is done. */
const PARTS = 10;
const PARSE_MS_MAX = 50;

export async function evaluateStatements(): Promise<void> {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'service-eval-'));
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
  const server = await openEmbeddedPostgres({ dataDir, settings });
  const sql = openPostgres(server.connection, { poolMax: 2, applicationName: 'eval' });
  try {
    await migrate(sql, { directory: path.resolve(import.meta.dirname, '../../migrations') });
    await report(await openSample(sql));
  } finally {
    await sql.end({ timeout: 5 });
    await server.release();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function report(sample: Sample): Promise<void> {
  const before = await fingerprint(sample.sql);
  const total = { statements: 0, discriminating: 0, matches: 0 };
  for (let part = 1; part <= PARTS; part++) {
    const tally = await checkMatches(sample, { seed: part, numRuns: STATEMENTS / PARTS });
    total.statements += tally.statements;
    total.discriminating += tally.discriminating;
    total.matches += tally.matches;
    console.log(
      `${total.statements} statements, ${total.discriminating} of them selective, ${total.matches} matches: all agree`,
    );
  }
  const { updated } = await checkEffects(sample, { seed: 1, numRuns: CHANGES });
  console.log(`${CHANGES} statements that change, ${updated} documents changed: all correct, and rolled back`);
  let slowestMs = 0;
  let slowest = '';
  let strings = 0;
  let read = 0;
  for (let part = 1; part <= PARTS; part++) {
    const tally = await checkNoise(sample, { seed: part, numRuns: STRINGS / PARTS });
    strings += tally.strings;
    read += tally.read;
    if (tally.slowestMs > slowestMs) ({ slowestMs, slowest } = tally);
  }
  console.log(
    `${strings} damaged or random strings: ${read} are valid statements, the others are refused with their position`,
  );
  console.log(`slowest to parse: ${slowestMs.toFixed(2)} ms, ${slowest.length} characters`);
  if (slowestMs > PARSE_MS_MAX)
    throw new Error(`parsing took more than ${PARSE_MS_MAX} ms: ${JSON.stringify(slowest)}`);
  if ((await fingerprint(sample.sql)) !== before) throw new Error('documents, jobs or audit log changed');
  console.log('no document, job or audit row changed');
}
