import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { DistributionMetric, TallyMetric } from '../../src/platform/metric-series.ts';

const NAMES = { labelNames: ['route', 'status'] as const, help: 'Requests, by "route".' };
const LABELS = [
  { route: '/v1/a', status: '200' },
  { route: 'say "a\\b"\n', status: '503' },
];

it('metrics by series are printed as prom-client prints its own', async () => {
  const [own, theirs] = [new Registry(), new Registry()];
  const counter = new TallyMetric('counter', { name: 'requests_total', ...NAMES, registry: own });
  const level = new TallyMetric<never>('gauge', { name: 'level', help: 'Level.', labelNames: [], registry: own });
  const buckets = [0.01, 0.5, 2];
  const seconds = new DistributionMetric({ name: 'seconds', ...NAMES, buckets, registry: own });
  const registers = [theirs];
  const theirCounter = new Counter({ name: 'requests_total', ...NAMES, registers });
  const theirLevel = new Gauge({ name: 'level', help: 'Level.', registers });
  const theirSeconds = new Histogram({ name: 'seconds', ...NAMES, buckets, registers });
  const areEqual = async () => expect(await own.metrics()).toBe(await theirs.metrics());
  await areEqual();
  for (const [nth, labels] of LABELS.entries()) {
    counter.of(labels).add(nth + 1);
    theirCounter.inc(labels, nth + 1);
    for (const value of [0.001, 0.01, 0.011, 2, 2.5, 70].slice(nth)) {
      seconds.of(labels).observe(value);
      theirSeconds.observe(labels, value);
    }
  }
  counter.of({ status: '200', route: '/v1/a' }).add(5);
  theirCounter.inc({ status: '200', route: '/v1/a' }, 5);
  level.of({}).add(3);
  level.of({}).add(-1);
  theirLevel.set(2);
  await areEqual();
  expect(await own.getMetricsAsJSON()).toMatchObject(
    (await theirs.getMetricsAsJSON()).map(({ name, type, help }) => ({ name, type, help })),
  );
});

it('a name can be registered once', () => {
  const registry = new Registry();
  const open = () => new TallyMetric('counter', { name: 'twice_total', ...NAMES, registry });
  open();
  expect(open).toThrow(/already been registered/);
});
