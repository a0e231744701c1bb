import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { MetricsDifference } from '../../src/cli/metrics-difference.ts';
import { parseMetrics, readMetrics } from '../../src/cli/read-metrics.ts';

describe('the text format', () => {
  it('the text format of prom-client is parsed', async () => {
    const registry = new Registry();
    const registers = [registry];
    new Counter({ name: 'a_total', help: 'a "help"\nof two lines', labelNames: ['x', 'y'], registers }).inc(
      { x: 'q"uo\\te\nd', y: 'a,b="c"}' },
      3,
    );
    new Gauge({ name: 'b', help: 'b', registers }).set(-1.5e-7);
    new Histogram({ name: 'c', help: 'c', buckets: [0.1, 1], registers }).observe(0.5);
    expect(parseMetrics(await registry.metrics())).toEqual([
      { name: 'a_total', labels: { x: 'q"uo\\te\nd', y: 'a,b="c"}' }, value: 3 },
      { name: 'b', labels: {}, value: -1.5e-7 },
      { name: 'c_bucket', labels: { le: '0.1' }, value: 0 },
      { name: 'c_bucket', labels: { le: '1' }, value: 1 },
      { name: 'c_bucket', labels: { le: '+Inf' }, value: 1 },
      { name: 'c_sum', labels: {}, value: 0.5 },
      { name: 'c_count', labels: {}, value: 1 },
    ]);
  });

  it('the text format may have times, infinities and lines that are no samples', () => {
    const text = 'a 1 1700000000000\n\nb{} +Inf\nc -Inf\nd NaN\n<html>\n{} 1\ne one\nf{__proto__="x"} 2\r\n';
    expect(parseMetrics(text).map(({ name, value }) => [name, value])).toEqual([
      ['a', 1],
      ['b', Number.POSITIVE_INFINITY],
      ['c', Number.NEGATIVE_INFINITY],
      ['f', 2],
    ]);
  });
});

describe('a server', () => {
  let close = async () => {};
  afterEach(() => close());

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const { signal } = new AbortController();

  it('a server is read at /metrics for any path of its address', async () => {
    const url = await serve((req, res) => res.end(`path{of="${req.url}"} 1\n`));
    expect(await readMetrics(`${url}/else`, signal)).toEqual([{ name: 'path', labels: { of: '/metrics' }, value: 1 }]);
  });

  it('servers that refuse, fail, are not this service or do not exist have different errors', async () => {
    const cases: [RequestListener, string, RegExp][] = [
      [(_, res) => res.writeHead(401).end(), 'metrics_refused', /only on its own machine/],
      [(_, res) => res.writeHead(500).end('no'), 'server_unreachable', /answered 500/],
      [
        (_, res) => res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
        'server_unreachable',
        /request failed/,
      ],
      [(_, res) => res.end('x'.repeat(9 * 1024 * 1024)), 'server_unreachable', /not that of this service/],
    ];
    for (const [listener, code, message] of cases) {
      const url = await serve(listener);
      await expect(readMetrics(url, signal, 20_000)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
      await close();
    }
    const silent = await serve(() => undefined);
    await expect(readMetrics(silent, signal, 50)).rejects.toMatchObject({
      message: `cannot read the metrics of ${silent}: it did not answer in time`,
    });
    await expect(readMetrics('http://127.0.0.1:1', signal)).rejects.toMatchObject({ code: 'server_unreachable' });
  });

  it('a read ends as soon as its signal is aborted', async () => {
    const url = await serve(() => undefined);
    const abort = new AbortController();
    const pending = readMetrics(url, abort.signal);
    abort.abort(new Error('enough'));
    await expect(pending).rejects.toThrow('enough');
  });
});

describe('a difference', () => {
  const reading = (atMs: number, text: string) => ({ atMs, samples: parseMetrics(text) });

  it('a difference is the growth of counters, new and reset ones included', () => {
    const since = new MetricsDifference([
      reading(0, 'n{k="a"} 10\nn{k="b"} 100\n'),
      reading(1, 'n{k="a"} 999\n'),
      reading(2_000, 'n{k="a"} 14\nn{k="b"} 3\nn{k="c"} 5\n'),
    ]);
    expect(since.grown('n')).toBe(12);
    expect(since.perSecond('n', { k: 'a' })).toBe(2);
    expect(since.share('n', ({ k }) => k === 'c')).toBeCloseTo(5 / 12);
    expect(since.share('m', () => true)).toBeNull();
    expect(since.labelValues('n', 'k')).toEqual(['a', 'b', 'c']);
    expect(since.now('n')).toBe(22);
  });

  it('a difference of one reading or none is zero', () => {
    for (const readings of [[], [reading(5, 'n 10\nh_bucket{le="+Inf"} 7\n')]]) {
      const since = new MetricsDifference(readings);
      expect([since.grown('n'), since.perSecond('n'), since.quantileMs('h', 0.5)]).toEqual([0, 0, null]);
    }
  });

  it('a difference has the quantiles of the values that a histogram recorded in between', () => {
    const buckets = (counts: readonly number[]) =>
      ['0.1', '0.2', '1', '+Inf'].map((le, i) => `h_bucket{le="${le}"} ${counts[i]}\n`).join('');
    const since = new MetricsDifference([
      reading(0, buckets([50, 50, 50, 50])),
      reading(1_000, buckets([50, 60, 70, 72])),
    ]);
    expect(since.quantileMs('h', 5 / 22)).toBeCloseTo(150);
    expect(since.quantileMs('h', 15 / 22)).toBeCloseTo(600);
    expect(since.quantileMs('h', 0.99)).toBe(1_000);
    expect(since.quantileMs('h', 0.5, { le: 'x' })).toBeNull();
  });
});
