import { readFileSync } from 'node:fs';
import stringWidth from 'string-width';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { enqueueJob } from '../../src/jobs/store.ts';
import { touchWorker } from '../../src/jobs/worker-store.ts';
import { newId } from '../../src/platform/ids.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { waitingBackends } from '../support/waiting-backends.ts';
import { CAN_MAKE_TERMINAL, runCommand, runOnTerminal, startService } from './service.ts';
import { startOnTerminal } from './terminal.ts';

// `jobs watch` and `top`, in pipes and on terminals, on a database whose jobs the tests change themselves.
// Each test starts up to three processes, one after the other, while other test files do the same.
vi.setConfig({ testTimeout: 90_000 });
let installation: TestApi;
let env: NodeJS.ProcessEnv;
const SHOW_CURSOR = '\u001b[?25h';
const HIDE_CURSOR = '\u001b[?25l';
const ALTERNATE_SCREEN = '\u001b[?1049h';
const MAIN_SCREEN = '\u001b[?1049l';

beforeAll(async () => {
  installation = await openTestApi({ worker: false });
  env = { DATABASE_URL: installation.databaseUrl, SERVICE_DATA_DIR: installation.dataDir };
});
afterAll(() => installation.close());
beforeEach(async () => {
  await installation.appliance.sql`DELETE FROM jobs`;
});

async function addJob(fileName: string, status = 'queued'): Promise<string> {
  const { sql } = installation.appliance;
  const [bucket] = await sql`SELECT id FROM buckets LIMIT 1`;
  const { id } = await enqueueJob(sql, {
    ...{ id: newId('job'), kind: 'ingest', orgId: installation.operator.orgId, bucketId: bucket?.['id'] as string },
    ...{ priority: 2, s3Key: 'k', fileName, fileSizeBytes: 1, processingType: 'test', documentId: 'doc_0' },
  });
  await setStatus(id, status);
  return id;
}

async function setStatus(id: string, status: string, error: string | null = null) {
  const isFinished = ['ready', 'failed', 'cancelled'].includes(status);
  await installation.appliance.sql`
    UPDATE jobs SET status = ${status}, error_message = ${error}, chunks_count = ${status === 'ready' ? 12 : null},
           completed_at = CASE WHEN ${isFinished} THEN now() END
    WHERE id = ${id}`;
}

async function statusOf(id: string) {
  const [row] = await installation.appliance.sql`SELECT status FROM jobs WHERE id = ${id}`;
  return row?.['status'];
}

describe('jobs watch in a pipe', () => {
  test('jobs watch --json prints the current state as one document', async () => {
    const id = await addJob('a.md');
    await addJob('b.md', 'failed');
    const all = await runCommand(['jobs', 'watch', '--json'], env);
    expect(all).toMatchObject({ code: 0, stderr: '' });
    expect(all.json()).toMatchObject({
      ...{ object: 'jobs_snapshot', live: 1, counts: { queued: 1, failed: 1 } },
      jobs: [{ id, file_name: 'a.md', status: 'queued', progress: null }],
    });
    const failed = await runCommand(['jobs', 'watch', '--json', '--status', 'failed', '--bucket', 'default'], env);
    expect(failed.json().jobs).toMatchObject([{ file_name: 'b.md' }]);
  });

  test('jobs watch in a pipe prints a line for each change, until no job is live', async () => {
    const [first, second] = [await addJob('a.md'), await addJob('휴가 규정.md', 'extracting')];
    const watch = startService(['jobs', 'watch', '--until-done'], env);
    const shows = (text: string) =>
      until(async () => watch.output().stdout.includes(text), { what: text, withinMs: 40_000 });
    await shows('queued 1  extracting 1  ready 0');
    await setStatus(second, 'embedding');
    await shows(`${second}  embedding  휴가 규정.md\n`);
    await setStatus(second, 'failed', 'the file is\nencrypted');
    await shows(`${second}  failed  휴가 규정.md  the file is encrypted\n`);
    await setStatus(first, 'ready');
    const { code, stdout, stderr } = await watch.finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n')).toHaveLength(4);
    expect(stdout).not.toContain('\u001b');
  });

  test('jobs watch --until-done --json waits and then prints one document', async () => {
    const id = await addJob('a.md');
    const watch = startService(['jobs', 'watch', '--until-done', '--json'], env);
    await hasReadJobs();
    await setStatus(id, 'ready');
    const finished = await watch.finished;
    expect(finished).toMatchObject({ code: 0 });
    expect(finished.json()).toMatchObject({ live: 0, jobs: [], counts: { ready: 1 } });
  });

  test('jobs watch ends on SIGTERM like other commands', async () => {
    const watch = startService(['jobs', 'watch'], env);
    await until(async () => watch.output().stdout.includes('queued 0'), { what: 'the first line', withinMs: 40_000 });
    watch.child.kill('SIGTERM');
    expect(await watch.finished).toMatchObject({ code: 130, stderr: 'service: interrupted\n' });
  });

  test('jobs watch ends silently with 0 when the reader of its output leaves', async () => {
    const id = await addJob('a.md');
    const watch = startService(['jobs', 'watch'], env);
    await until(async () => watch.output().stdout.includes('queued 1'), { what: 'the first line', withinMs: 40_000 });
    watch.child.stdout?.destroy();
    // It notices with its next line.
    await setStatus(id, 'embedding');
    expect(await watch.finished).toMatchObject({ code: 0, stderr: '' });
  });

  test('jobs watch exits with 2 for wrong flags, and with 3 for an unknown bucket or organization', async () => {
    const exits = async (...flags: string[]) => (await runCommand(['jobs', 'watch', '--json', ...flags], env)).code;
    expect(await Promise.all([exits('--status', 'done'), exits('--kind', 'other'), exits('--interval', '0')])).toEqual([
      2, 2, 2,
    ]);
    expect(await Promise.all([exits('--bucket', 'nowhere'), exits('--org', 'nobody')])).toEqual([3, 3]);
  });

  /** Wait until a command has read the jobs for the first time: a lock holds it there, is released, and it commits. */
  async function hasReadJobs() {
    const { sql } = installation.appliance;
    const pid = await sql.begin(async (tx) => {
      await tx`LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE`;
      const waiting = async () => (await waitingBackends(tx))[0];
      return until(waiting, { what: 'the command at the jobs', withinMs: 40_000 });
    });
    const isIdle = async () =>
      (await sql`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND state = 'idle'`).length === 1;
    await until(isIdle, { what: 'the end of its first reading' });
  }
});

describe.skipIf(!CAN_MAKE_TERMINAL)('jobs watch on a terminal', () => {
  test('jobs watch on a terminal shows jobs, cancels one on request, and prints finished ones as lines', async () => {
    const queued = await addJob('아주 긴 이름의 휴가 규정 안내문 최종본 2026년 개정판.md');
    const running = await addJob('running.md', 'embedding');
    const screen = startOnTerminal(['jobs', 'watch'], env, { columns: 80, rows: 24 });
    await screen.shows('queued 1  embedding 1');
    await screen.shows('> running.md');
    screen.pressKeys('jc');
    await screen.shows('cancel this job?  아주');
    screen.pressKeys('y');
    await screen.shows('cancelled 아주');
    expect(await statusOf(queued)).toBe('cancelled');
    await setStatus(running, 'failed', 'the provider is away');
    await screen.shows('the provider is away');
    screen.pressKeys('ff\r');
    await screen.shows('only failed');
    await screen.shows('> running.md');
    screen.pressKeys('\r');
    await screen.shows('the provider is away (unknown');
    screen.pressKeys('qq');
    expect(await screen.code).toBe(0);
    const raw = screen.raw();
    expect(raw).toContain('queued 0  ready 0  failed 1  cancelled 1');
    expect(raw.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(raw.lastIndexOf(HIDE_CURSOR));
    expect(raw).not.toContain(ALTERNATE_SCREEN);
    expect(raw).toMatch(/[^-]icanon\s*$/);
    const [audit] = await installation.appliance.sql`SELECT actor FROM audit_log WHERE target = ${queued}`;
    expect(audit?.['actor']).toMatch(/^operator:/);
  });

  test('jobs watch --until-done has no colours if NO_COLOR is set, and ends by itself', async () => {
    const id = await addJob('a.md', 'embedding');
    const plain = startOnTerminal(
      ['jobs', 'watch', '--until-done'],
      { ...env, NO_COLOR: '1' },
      { columns: 200, rows: 50 },
    );
    await plain.shows(id);
    await setStatus(id, 'ready');
    expect(await plain.code).toBe(0);
    const styles = plain.raw().match(new RegExp(`${'\u001b'}\\[[\\d;]*m`, 'g'));
    expect(styles).toBeNull();
    expect(plain.raw()).toContain('12 chunks');

    const coloured = startOnTerminal(['jobs', 'watch'], env, { columns: 80, rows: 24 });
    await coloured.shows('no jobs are queued');
    expect(coloured.raw()).toContain('\u001b[1m');
    coloured.pressKeys('q');
    expect(await coloured.code).toBe(0);
  });

  test.each(['Ctrl-C', 'SIGTERM', 'a database without its tables'])(
    '%s ends jobs watch and restores the terminal',
    async (how) => {
      const screen = startOnTerminal(['jobs', 'watch'], env, { columns: 80, rows: 24 });
      await screen.shows('no jobs are queued');
      // Keys are read before the second frame; until then Ctrl-C is a signal, also for the shell.
      await screen.shows('no jobs are queued');
      if (how === 'Ctrl-C') screen.pressKeys('\u0003');
      else if (how === 'SIGTERM') process.kill(lastDescendant(screen.pid), 'SIGTERM');
      else await installation.appliance.sql`ALTER TABLE jobs RENAME TO hidden`;
      try {
        expect(await screen.code).toBe(how.startsWith('a database') ? 1 : 130);
      } finally {
        await installation.appliance.sql`ALTER TABLE IF EXISTS hidden RENAME TO jobs`;
      }
      const raw = screen.raw();
      expect(raw.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(raw.lastIndexOf(HIDE_CURSOR));
      expect(raw).toMatch(/[^-]icanon\s*$/);
    },
  );
});

describe('top', () => {
  test('top in a pipe prints one reading, as tables or as one document', async () => {
    const { sql } = installation.appliance;
    await addJob('a.md');
    await touchWorker(sql, { id: 'wrk_test', kind: 'ingest', host: 'box/1', pid: 4_711 });
    // The server of the data directory is found without its address.
    const flags = ['top'];
    const tables = await runCommand(flags, env);
    const json = await runCommand([...flags, '--json'], env);
    expect(tables).toMatchObject({ code: 0, stderr: '' });
    expect(tables.stdout).toMatch(/^QUEUE +PRIORITY +QUEUED .*\ningest +2 +1 /m);
    expect(tables.stdout).toMatch(/^wrk_test +ingest +0 /m);
    expect(json.json()).toMatchObject({
      ...{ object: 'top_snapshot', trouble: null, queues: [{ kind: 'ingest', priority: 2, queued: 1 }] },
      server: { url: installation.api.url, trouble: null, requests: { per_second: expect.any(Number) } },
    });
    // The readings of the command itself are no load.
    expect(json.json().server.requests.per_second).toBe(0);
  });

  test.skipIf(!CAN_MAKE_TERMINAL)(
    'a terminal that cannot move its cursor gets lines and tables without control sequences',
    async () => {
      const id = await addJob('a.md');
      const dumb = { ...env, TERM: 'dumb' };
      const top = await runOnTerminal(['top'], dumb);
      expect(top).toMatchObject({ code: 0, stdout: expect.stringMatching(/^QUEUE +PRIORITY/m) });
      await setStatus(id, 'ready');
      const watch = await runOnTerminal(['jobs', 'watch', '--until-done'], dumb);
      expect(watch.code).toBe(0);
      expect(top.stdout + watch.stdout).not.toContain('\u001b');
    },
  );

  test.skipIf(!CAN_MAKE_TERMINAL)(
    'a list is a block for each row on a terminal of 60 columns, and a table on one of 160',
    async () => {
      await addJob(`${'long-'.repeat(16)}name.md`);
      const linesAt = async (columns: number) => {
        const terminal = startOnTerminal(['jobs', 'list'], { ...env, NO_COLOR: '1' }, { columns, rows: 24 });
        expect(await terminal.code).toBe(0);
        return terminal.raw().split(/\r?\n/);
      };
      expect(await linesAt(60)).toEqual(expect.arrayContaining([expect.stringMatching(/^id +job_\S+$/)]));
      const wide = (await linesAt(160)).filter((line) => /^(ID|job_)/.test(line));
      const longest = Math.max(...wide.map((line) => stringWidth(line)));
      expect([wide.length, longest > 100, longest <= 160]).toEqual([2, true, true]);
    },
  );

  test('top reports that no server answers, which is no failure', async () => {
    const finished = await runCommand(['top', '--url', 'http://127.0.0.1:1'], env);
    expect(finished).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('cannot read the metrics of http://127.0.0.1:1'),
    });
    expect(await runCommand(['top', '--url', 'ftp://x'], env)).toMatchObject({ code: 2 });
  });

  test.skipIf(!CAN_MAKE_TERMINAL).each([
    ['q', 0],
    ['\u0003', 130],
  ])('top on a terminal uses the alternate screen, and %j restores the main one', async (keys, code) => {
    await addJob('a.md');
    const screen = startOnTerminal(['top', '--url', installation.api.url], env, { columns: 80, rows: 24 });
    for (const text of ['service top', 'ingest', 'q quit', 'q quit']) await screen.shows(text);
    screen.pressKeys(keys);
    expect(await screen.code).toBe(code);
    const raw = screen.raw();
    expect(raw.indexOf(ALTERNATE_SCREEN)).toBeGreaterThan(-1);
    expect(raw.lastIndexOf(MAIN_SCREEN)).toBeGreaterThan(raw.lastIndexOf('q quit'));
    expect(raw.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(raw.lastIndexOf(HIDE_CURSOR));
    expect(raw).toMatch(/[^-]icanon\s*$/);
  });
});

/** Return the process of the service itself, below the shells that started it. */
function lastDescendant(pid: number): number {
  const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
  return child > 0 ? lastDescendant(child) : pid;
}
