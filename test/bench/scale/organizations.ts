import { createKey } from '../../../src/access/keys.ts';
import { openAppliance } from '../../../src/appliance/open-appliance.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { readPassages } from '../../support/real-passages.ts';
import {
  bucketName,
  CHUNKS_PER_BUCKET,
  fillBuckets,
  type IndexedPassage,
  indexPassages,
  passageAt,
  queryOf,
} from './fill-buckets.ts';
import { type Filling, openInstallation, report, type Step } from './installation.ts';
import { inFlight, memoryMb, openFiles, quantile, startServer, timedSearch, times } from './measure.ts';

const PASSAGES = 2_000;
const CALLS = 1_000;
const IN_FLIGHT = 8;

/** Measure requests of many organizations in turn, compared with those of one. */
export async function measureOrganizations(count: number, steps: ReadonlySet<Step>): Promise<void> {
  const passages = indexPassages(readPassages(PASSAGES));
  const { dataDir, filled, remove } = await openInstallation(`organizations-${count}`, (filling) =>
    fill(passages, count, filling),
  );
  try {
    if (steps.has('search')) await measure(passages, dataDir, filled.keys);
  } finally {
    remove();
  }
}

async function fill(
  passages: readonly IndexedPassage[],
  count: number,
  { config }: Filling,
): Promise<{ keys: string[] }> {
  const keys: string[] = [];
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  try {
    const orgs: string[] = [];
    for (let nth = 0; nth < count; nth++) {
      const { id } = await appliance.access.createOrganization({ name: `tenant-${nth}`, plan: 'enterprise' });
      orgs.push(id);
      const operator = await appliance.access.operator(id);
      const { key } = await createKey(appliance.sql, appliance.keyRing, operator, { name: 'bench' });
      keys.push(key.reveal());
    }
    await fillBuckets(appliance, passages, { count, orgOf: (nth) => orgs[nth] as string });
    return { keys };
  } finally {
    await appliance.close();
  }
}

async function measure(passages: readonly IndexedPassage[], dataDir: string, keys: readonly string[]): Promise<void> {
  const count = keys.length;
  const { server, startMs } = await startServer(dataDir);
  try {
    const url = String(server.ready['url']);
    const embed = async (org: number) => {
      const beganMs = performance.now();
      const headers = { authorization: `Bearer ${keys[org]}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ input: passageAt(passages, org, 0).text });
      const reply = await fetch(`${url}/v1/embeddings`, { method: 'POST', headers, body });
      await reply.arrayBuffer();
      if (!reply.ok) throw new Error(`the embedding of organization ${org} was answered with ${reply.status}`);
      return performance.now() - beganMs;
    };
    const search = (org: number) => {
      const place = (org * 13) % CHUNKS_PER_BUCKET;
      const query = queryOf(passageAt(passages, org, place));
      return timedSearch(`${url}/v2/buckets/${bucketName(org)}/search`, keys[org] as string, { query, top_k: 10 });
    };
    const one = Array.from({ length: CALLS }, () => 0);
    const many = Array.from({ length: CALLS }, (_, nth) => (nth * 7) % count);
    report(`${count} organizations: start ${startMs.toFixed(0)} ms (goal <= 2500)`);
    for (const [name, call] of [
      ['embedding of one text', embed],
      ['hybrid search', search],
    ] as const) {
      await inFlight(one.slice(0, 100), IN_FLIGHT, call);
      const ofOne = await inFlight(one, IN_FLIGHT, call);
      const ofMany = await inFlight(many, IN_FLIGHT, call);
      const ratio = quantile(ofMany.ms, 0.5) / quantile(ofOne.ms, 0.5);
      report(
        `${name}, ${IN_FLIGHT} in flight: ${times(ofOne.ms)} by one organization, ${times(ofMany.ms)} by ${count} in turn (${ratio.toFixed(2)} at p50)`,
      );
    }
    const { files, sockets } = openFiles(server.pid);
    report(`memory of the server ${memoryMb(server.pid).now.toFixed(0)} MB, ${files} open files, ${sockets} sockets`);
  } finally {
    await server.end('SIGTERM');
  }
}
