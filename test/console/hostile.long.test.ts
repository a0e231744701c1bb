import { afterAll, beforeAll, expect, it } from 'vitest';
import { ingestAll } from '../support/ingest-all.ts';
import { type ConsoleTest, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
const MARK = 'globalThis.wasRun=1';

/** Texts that run a script if a page takes them for markup, an address or code. */
const ATTACKS = [
  `<script>${MARK}</script>`,
  `<img src=x onerror="${MARK}">`,
  `<svg onload="${MARK}"><animate onbegin="${MARK}">`,
  `"><script>${MARK}</script>`,
  `' onmouseover='${MARK}' autofocus onfocus='${MARK}`,
  `javascript:${MARK}`,
  `</title><script>${MARK}</script>`,
  `<iframe srcdoc="<script>parent.${MARK}</script>">`,
  `{{constructor.constructor('${MARK}')()}}`,
  `<a href="javascript:${MARK}">x</a>`,
  `<details open ontoggle="${MARK}">`,
  `<math><mi xlink:href="data:x,<script>${MARK}</script>">`,
  `&lt;script&gt;${MARK}&lt;/script&gt;`,
  `\u202e<script>${MARK}</script>`,
  `<style>@import '//evil.example/x.css';</style>`,
  `<base href="//evil.example/">`,
  `<meta http-equiv="refresh" content="0;url=//evil.example">`,
  `<form action="//evil.example"><button autofocus onfocus="${MARK}">`,
  `<template><script>${MARK}</script></template>`,
  `<object data="data:text/html,<script>${MARK}</script>">`,
];
const PLACES = ['name', 'heading', 'text', 'metadata', 'path'] as const;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser(
  'a hundred hostile names, headings, texts, metadata values and paths run no script and send no request elsewhere',
  async () => {
    const { appliance, operator } = console.test;
    expect(ATTACKS.length * PLACES.length).toBe(100);
    const documents = ATTACKS.flatMap((attack, n) =>
      PLACES.map((place) => ({
        id: `${place}-${n}`,
        // A slash separates folders and cannot be in a name.
        fileName: place === 'name' ? `${attack.replaceAll('/', '∕').replace(/[\u202e]/g, '')}.txt` : `${place}-${n}.md`,
        text: `${place === 'heading' ? `# ${attack}` : '# Title'}\n\nattack ${n} ${place === 'text' ? attack : 'plain'}`,
        metadata: place === 'metadata' ? { note: attack.replace(/[\u202e]/g, '') } : {},
      })),
    );
    const { idOf } = await ingestAll(appliance, operator, 'default', documents);
    await appliance.sql`UPDATE documents SET source_path = ${ATTACKS[1] ?? ''} WHERE file_name LIKE 'path-%'`;
    const [bucket] = await appliance.sql`SELECT id FROM buckets WHERE name = 'default'`;
    const { page, context, faults } = await console.open(`/console/buckets/${bucket?.['id']}`);
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByRole('row').nth(90).waitFor();
    await expectUntouched();
    for (const mode of ['hybrid', 'keyword']) {
      await page.goto(`${console.test.api.url}/console/search?bucket=default&q=attack&mode=${mode}&top_k=100`);
      await page.getByRole('listitem').filter({ hasText: 'attack' }).nth(50).waitFor();
      await expectUntouched();
    }
    // One document of each attack and of each place.
    const ids = [...idOf].filter(([, name]) =>
      PLACES.some((place, at) => name.startsWith(`${place}-`) && Number(name.split('-')[1]) % PLACES.length === at),
    );
    expect(ids.length).toBe(ATTACKS.length);
    for (const [id] of ids) {
      await page.goto(`${console.test.api.url}/console/documents/${id}#0`);
      await page.locator('.passage.cited').waitFor();
      await expectUntouched();
    }
    expect(faults).toEqual([]);
    await context.close();

    async function expectUntouched(): Promise<void> {
      const touched =
        "[globalThis.wasRun ?? null, document.querySelectorAll('main script, main iframe, main img, main form[action], base, meta[http-equiv]').length]";
      expect(await page.evaluate(touched)).toEqual([null, 0]);
    }
  },
);

inBrowser('hostile addresses of the console run no script', async () => {
  const { page, context, faults } = await console.open('/console');
  await page.getByRole('heading', { level: 1 }).waitFor();
  for (const attack of ATTACKS) {
    const text = encodeURIComponent(attack.replaceAll('.', ''));
    for (const address of [
      `/console/documents/${text}`,
      `/console/search?bucket=${text}&q=${text}&filter=${text}~eq~${text}`,
      `/console/${text}#${text}`,
    ]) {
      await page.goto(console.test.api.url + address);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.evaluate('globalThis.wasRun ?? null')).toBe(null);
    }
  }
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a page of another site cannot frame the console', async () => {
  const { page, context } = await console.open('/console');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const frame = await page.evaluate(`new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.onload = () => resolve(frame.contentDocument === null);
    frame.src = '/console';
    document.body.append(frame);
    setTimeout(() => resolve(true), 5000);
  })`);
  expect(frame).toBe(true);
  await context.close();
});
