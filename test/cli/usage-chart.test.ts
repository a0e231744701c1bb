import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { renderQuotas, renderUsage } from '../../src/cli/usage-chart.ts';
import type { UsageSummary } from '../../src/usage/schema.ts';

const none = { requests: 0, texts: 0, tokens: 0, images: 0, limit: null, remaining: null };
const summary: UsageSummary = {
  object: 'usage.summary',
  org_id: 'org_1',
  plan: 'free',
  period: { start: '2026-08-01T00:00:00.000Z', end: '2026-09-01T00:00:00.000Z' },
  axes: {
    embed: { requests: 600, texts: 620, tokens: 12_345, images: 0, limit: 1000, remaining: 380 },
    embed_batch: { requests: 1, texts: 100, tokens: 20_000, images: 0, limit: null, remaining: null },
    embed_image: { requests: 0, texts: 0, tokens: 0, images: 0, limit: 0, remaining: 0 },
    answers: { ...none, output_tokens: 0, price: null },
  },
  by_model: [
    { model: 'openai/text-embedding-3-large', tokens: 30_000, requests: 500 },
    { model: 'service-embed-1-small', tokens: 2345, requests: 101 },
  ],
  by_day: [
    { date: '2026-08-01', tokens: 16_000, requests: 300 },
    { date: '2026-08-02', tokens: 1, requests: 1 },
    { date: '2026-08-04', tokens: 4000, requests: 300 },
  ],
};
const terminal = { width: 80, color: false };

test('the chart by axis shows the used part of the limit and the rest', () => {
  expect(`\n${renderUsage(summary, terminal, 'axis')}\n`).toBe(`
Usage from 2026-08-01 to 2026-08-31 (UTC), plan free

embed        ████████████████▏░░░░░░░░░  620 of 1,000 texts this month, 380 left
embed_batch                              100 texts, 1 request, no limit
embed_image                              0 images, 0 requests, not in the plan
answers                                  0 answers, 0 requests, no limit
`);
});

test('the quotas show what is left of each, and what the plan does not have', () => {
  expect(`\n${renderQuotas(summary, terminal)}\n`).toBe(`
Quotas of this month

embed        ████████████████▏░░░░░░░░░  620 of 1,000 texts this month, 380 left
embed_batch                              100 texts, 1 request, no limit
embed_image                              0 images, 0 requests, not in the plan
answers                                  0 answers, 0 requests, no limit
`);
});

test('the chart by day shows every day from the first to the last with usage, in proportion to the largest', () => {
  expect(`\n${renderUsage(summary, terminal, 'day')}\n`).toBe(`
Usage from 2026-08-01 to 2026-08-31 (UTC), plan free

2026-08-01  ███████████████████████████████████████  16,000 tokens, 300 requests
2026-08-02  ▏                                              1 token, 1 request
2026-08-03                                                0 tokens, 0 requests
2026-08-04  █████████▊                                4,000 tokens, 300 requests
`);
});

test('the chart by model is ASCII if the output is no terminal', () => {
  expect(`\n${renderUsage(summary, { width: null, color: false }, 'model')}\n`).toBe(`
Usage from 2026-08-01 to 2026-08-31 (UTC), plan free

openai/text-embedding-3-large  ########################################  30,000 tokens, 500 requests
service-embed-1-small          ###                                        2,345 tokens, 101 requests
`);
  expect(`\n${renderUsage(summary, { width: null, color: false }, 'axis')}\n`).toBe(`
Usage from 2026-08-01 to 2026-08-31 (UTC), plan free

embed        #########################...............  620 of 1,000 texts this month, 380 left
embed_batch                                            100 texts, 1 request, no limit
embed_image                                            0 images, 0 requests, not in the plan
answers                                                0 answers, 0 requests, no limit
`);
});

test('bars are shortened or left out on a narrow terminal', () => {
  expect(`\n${renderUsage(summary, { width: 46, color: false }, 'day')}\n`).toBe(`
Usage from 2026-08-01 to 2026-08-31 (UTC), plan free

2026-08-01  █████  16,000 tokens, 300 requests
2026-08-02  ▏            1 token, 1 request
2026-08-03              0 tokens, 0 requests
2026-08-04  █▎      4,000 tokens, 300 requests
`);
  expect(`\n${renderUsage(summary, { width: 40, color: false }, 'day')}\n`).toBe(`
Usage from 2026-08-01 to 2026-08-31 (UTC), plan free

2026-08-01  16,000 tokens, 300 requests
2026-08-02        1 token, 1 request
2026-08-03       0 tokens, 0 requests
2026-08-04   4,000 tokens, 300 requests
`);
});

test('colours do not change the text, and they warn from 80 % and at the limit', () => {
  for (const by of ['axis', 'day', 'model'] as const) {
    const coloured = renderUsage(summary, { width: 80, color: true }, by);
    expect(coloured).not.toBe(stripVTControlCharacters(coloured));
    expect(stripVTControlCharacters(coloured)).toBe(renderUsage(summary, terminal, by));
  }
  const barOf = (remaining: number) => {
    const embed = { ...none, limit: 1000, remaining };
    return renderUsage({ ...summary, axes: { ...summary.axes, embed } }, { width: 80, color: true }, 'axis');
  };
  expect(barOf(201)).toContain('\u001b[32m█');
  expect(barOf(200)).toContain('\u001b[33m█');
  expect(barOf(0)).toContain('\u001b[31m█');
});

test('a chart without usage says that nothing was used', () => {
  const axes = {
    embed: none,
    embed_batch: none,
    embed_image: none,
    answers: { ...none, output_tokens: 0, price: null },
  };
  const unused = { ...summary, axes, by_day: [], by_model: [] };
  expect(renderUsage(unused, terminal, 'day')).toBe(
    'Usage from 2026-08-01 to 2026-08-31 (UTC), plan free\n\nnothing used',
  );
  expect(renderUsage(unused, terminal, 'axis')).toContain('\nembed        0 texts, 0 requests, no limit\n');
});

test.each([20, 45, 60, 80, 200])('lines with bars never exceed %d cells', (width) => {
  for (const by of ['axis', 'day', 'model'] as const) {
    const lines = renderUsage(summary, { width, color: false }, by).split('\n').slice(2);
    for (const line of lines) if (/[█▏]/.test(line)) expect(stringWidth(line)).toBeLessThanOrEqual(width);
  }
});
