import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { probeHere } from '../platform/probe-here.ts';

/**
 * Wait until a just started installation answers `/readyz` and all its programs stay up. Exit with 1 and a line on
 * stderr if a program exits repeatedly or the time is over.
 *
 * `node wait-ready.ts --url URL --seconds N (--status FILE --restarts N | --units 'UNIT …')`
 */

const POLL_MS = 250;
/** Number of crashes after which a program isn't expected to recover. */
const CRASHES_MAX = 2;
/** Minimum uptime of all programs. A program with a bug exits earlier. */
const STABLE_MS = 2_000;

interface Programs {
  readonly crashes: number;
  readonly areUp: boolean;
}

/** Read the supervisor's status file. Before it exists, no program is up. */
function readStatus(file: string, restarts: number): Programs {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return { crashes: 0, areUp: false };
  }
  const status = JSON.parse(text) as { restarts: number; programs: { pid: number | null; crashes: number }[] };
  return {
    crashes: Math.max(0, ...status.programs.map(({ crashes }) => crashes)),
    areUp: status.restarts >= restarts && status.programs.every(({ pid }) => pid !== null),
  };
}

function readUnits(units: readonly string[]): Programs {
  const shown = execFileSync('systemctl', ['show', '--property=NRestarts,ActiveState', ...units], { encoding: 'utf8' });
  const values = (name: string) => [...shown.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map((match) => match[1]);
  return {
    crashes: Math.max(0, ...values('NRestarts').map(Number)),
    areUp: values('ActiveState').every((state) => state === 'active'),
  };
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await probeHere(url, 10_000)).status === 200;
  } catch {
    return false;
  }
}

/** @returns null if the installation is ready, else the reason as a sentence */
async function waitUntilReady(url: string, seconds: number, programs: () => Programs): Promise<string | null> {
  const deadlineMs = performance.now() + seconds * 1000;
  let upSinceMs: number | null = null;
  let crashesSeen = 0;
  while (performance.now() < deadlineMs) {
    const { crashes, areUp } = programs();
    if (crashes > CRASHES_MAX) return 'a program ends again and again after its start';
    if (!areUp || crashes > crashesSeen) upSinceMs = null;
    else upSinceMs ??= performance.now();
    crashesSeen = crashes;
    const isStable = upSinceMs !== null && performance.now() - upSinceMs >= STABLE_MS;
    if (isStable && (await isReady(url))) return null;
    await delay(POLL_MS);
  }
  return `${url} did not answer with 200 within ${seconds} seconds`;
}

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    seconds: { type: 'string', default: '120' },
    status: { type: 'string' },
    restarts: { type: 'string', default: '0' },
    units: { type: 'string', default: '' },
  },
});
const { status, units } = values;
const fault = await waitUntilReady(values.url, Number(values.seconds), () =>
  status === undefined ? readUnits(units.split(/\s+/).filter(Boolean)) : readStatus(status, Number(values.restarts)),
);
if (fault !== null) {
  process.stderr.write(`${fault}\n`);
  process.exitCode = 1;
}
