/**
 * Benchmark of `POST /v1/embeddings` through the whole service: a fake upstream, `service serve` and this client, each
 * in a separate process. CPU is the time of all threads of the server's process for a request, as the operating system
 * counts it; for one text it is compared with that of a bare proxy, which only forwards bytes. Latency is compared with the
 * same client on the bare upstream. Texts are never sent twice, except in the rows about the cache.
 *
 * Another gateway can be measured in the same run. It must use the upstream of this run:
 *   PEER_KEY=… npm run bench -- embed --peer http://127.0.0.1:8787/v1 --peer-pid 4711 --upstream-port 9000 \
 *     --peer-header 'x-portkey-provider: openai' --peer-header 'x-portkey-custom-host: {upstream}'
 */
import { parseArgs } from 'node:util';
import type { Target } from './embed/client.ts';
import { startBareProxy, startService, startUpstream } from './embed/installation.ts';
import { measure } from './embed/measure.ts';
import { printTable } from './embed/print-table.ts';
import { BUILT_IN_ROWS, FLOORS, GATEWAY, PEER, type TargetName } from './embed/rows.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    'round-ms': { type: 'string', default: '1000' },
    /** Measure only the floors, and rows whose id contains this text. */
    only: { type: 'string', default: '' },
    peer: { type: 'string' },
    'peer-pid': { type: 'string' },
    'peer-header': { type: 'string', multiple: true, default: [] },
    'upstream-port': { type: 'string', default: '0' },
    /** Directory for a CPU profile of the server. */
    'cpu-prof': { type: 'string' },
  },
});

const upstream = await startUpstream(values['upstream-port']);
const proxy = await startBareProxy(upstream.url);
const profile = values['cpu-prof'];
const service = await startService(upstream.url, profile === undefined ? '' : `--cpu-prof --cpu-prof-dir=${profile}`);
const targets = new Map<TargetName, Target>([
  ['upstream', { url: upstream.url, headers: {}, pid: null }],
  ['proxy', { url: proxy.url, headers: {}, pid: proxy.pid }],
  ['service', { url: service.url, headers: { authorization: `Bearer ${service.key}` }, pid: service.pid }],
]);
if (values.peer !== undefined) targets.set('peer', peerOf(values.peer));

try {
  const gateway = [...GATEWAY, ...BUILT_IN_ROWS, ...(targets.has('peer') ? PEER : [])];
  const rows = [...FLOORS, ...gateway.filter(({ id }) => id.includes(values.only))];
  const rounds = Number(values.rounds);
  const figures = await measure(rows, targets, {
    rounds,
    roundMs: Number(values['round-ms']),
    onRound: (round) => process.stderr.write(`round ${round} of ${rounds}\n`),
  });
  printTable(rows, figures);
} finally {
  await service.stop();
  await proxy.stop();
  await upstream.stop();
}

function peerOf(url: string): Target {
  const key = process.env['PEER_KEY'];
  const given = values['peer-header'].map((line) => {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).trim();
    return [line.slice(0, colon).trim(), value.replace('{upstream}', upstream.url)] as const;
  });
  const headers = { ...(key ? { authorization: `Bearer ${key}` } : {}), ...Object.fromEntries(given) };
  const pid = values['peer-pid'] === undefined ? null : Number(values['peer-pid']);
  return { url: url.replace(/\/+$/, ''), headers, pid };
}
