import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import {
  ballastChore,
  ballastFile,
  ballastState,
  createBallast,
  releaseBallast,
  releaseBallastIfFull,
} from '../../src/platform/ballast.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openTestApi } from '../support/api.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const BALLAST_BYTES = 24 * MIB;
const dataDir = mkdtempSync(path.join(tmpdir(), 'service-test-ballast-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=0711', 'tmpfs', dataDir]);
const canMount = mounted.status === 0;
if (!canMount) process.stderr.write('Tests of a full disk are skipped: they mount a tmpfs, which needs root.\n');
const never = () => new AbortController().signal;
const options = { dataDir, bytes: BALLAST_BYTES };
const logger = openLogger('silent');

afterEach(() => {
  spawnSync('umount', ['-l', dataDir]);
  rmSync(dataDir, { recursive: true, force: true });
});

/** Write until the disk refuses it. */
function fill(): void {
  const file = openSync(path.join(dataDir, 'filler'), 'a');
  const block = Buffer.alloc(4096, 1);
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  } finally {
    closeSync(file);
  }
}

const freeBytes = () => {
  const { bavail, bsize } = statfsSync(dataDir);
  return bavail * bsize;
};

test.skipIf(!canMount)('a service on a full disk goes on once the ballast file is deleted', async () => {
  const database = await createTestDatabase();
  const api = await openTestApi({
    settings: { ballast_bytes: BALLAST_BYTES },
    logger,
    beside: { dataDir, databaseUrl: database.url } as never,
  });
  try {
    const key = await api.key({ scopes: ['documents:write', 'search'] });
    const chore = ballastChore(options, logger, 0);
    await chore.run(never());
    expect(await ballastState(options)).toBe('present');
    expect(statSync(ballastFile(dataDir)).blocks * 512).toBeGreaterThanOrEqual(BALLAST_BYTES);

    fill();
    const upload = (name: string) =>
      api.call('POST', '/v1/buckets/default/documents', {
        key,
        json: { filename: `${name}.txt`, text: `The ${name} is greased in spring.` },
      });
    expect(await upload('gearbox')).toMatchObject({ status: 503 });

    await chore.run(never());
    expect(await ballastState(options)).toBe('missing');
    expect(freeBytes()).toBeGreaterThanOrEqual(BALLAST_BYTES);
    const accepted = await upload('windlass');
    expect(accepted.status).toBe(202);
    const found = async () => {
      const json = { query: 'windlass' };
      const reply = await api.call('POST', '/v2/buckets/default/search', { key, json });
      return reply.status === 200 && reply.body.results.length > 0;
    };
    await until(found, { withinMs: 60_000, what: 'the document after the recovery' });

    // There is not enough space to make it again, until the operator frees some.
    await chore.run(never());
    expect(await ballastState(options)).toBe('missing');
    rmSync(path.join(dataDir, 'filler'));
    await chore.run(never());
    expect(await ballastState(options)).toBe('present');
  } finally {
    await api.close();
    await database.drop();
  }
});

test('the ballast file is deleted by hand, and not made where it is switched off', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-test-ballast-'));
  try {
    const here = { dataDir: folder, bytes: 2 * MIB };
    expect(await createBallast(here, never())).toBe(true);
    expect(await releaseBallastIfFull(folder)).toBeNull();
    expect(existsSync(ballastFile(folder))).toBe(true);
    expect(await releaseBallast(folder)).toBe(2 * MIB);
    expect(await releaseBallast(folder)).toBeNull();
    expect(await createBallast({ dataDir: folder, bytes: 0 }, never())).toBe(false);
    expect(await ballastState({ dataDir: folder, bytes: 0 })).toBe('off');
    expect(await createBallast({ dataDir: folder, bytes: Number.MAX_SAFE_INTEGER }, never())).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
