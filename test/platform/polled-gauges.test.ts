import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { openPolledGauges } from '../../src/platform/polled-gauges.ts';

function gaugesOver(read: () => Promise<number>) {
  const registry = new Registry();
  openPolledGauges(registry, 'test', read, [
    { name: 'plain', help: 'plain', samples: (value) => [[value]] },
    { name: 'labelled', help: 'labelled', labelNames: ['kind'], samples: (value) => [['a', value]] },
  ]);
  return registry;
}

test('gauges of one source share one reading, also between scrapes that follow each other', async () => {
  let readings = 0;
  const registry = gaugesOver(async () => ++readings);
  await registry.metrics();
  const text = await registry.metrics();
  expect(text).toContain('plain 1\n');
  expect(text).toContain('labelled{kind="a"} 1\n');
  expect(readings).toBe(1);
});

test('a reading that fails leaves out its samples, is counted, and does not fail the scrape', async () => {
  const registry = gaugesOver(() => Promise.reject(new Error('the database is gone')));
  await registry.metrics();
  const text = await registry.metrics();
  expect(text).not.toMatch(/^(plain|labelled)\b/m);
  expect(text).toContain('service_metrics_failed_readings_total{source="test"} 1');
});
