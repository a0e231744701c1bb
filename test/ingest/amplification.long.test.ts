import { expect, test } from 'vitest';
import { makeEpub, makeOdf } from '../support/office-samples.ts';
import { extract } from '../support/read-document.ts';
import { HOSTILE_MARKDOWN } from './hostile-markdown.ts';

const MIB = 1024 * 1024;

test('Markdown that keeps its reader busy is ended at the deadline and not tried again, and the event loop runs on', async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 0);
  // Reading them takes more than a minute.
  const brackets = Buffer.from((HOSTILE_MARKDOWN['brackets'] as (chars: number) => string)(20 * MIB));
  const reading = extract(brackets, 'brackets.md', { deadlineMs: 10_000 });
  await expect(reading).rejects.toMatchObject({ category: 'timeout', retryable: false });
  clearInterval(timer);
  // In this process the first windows alone would take the whole time in a few pieces.
  expect(ticks).toBeGreaterThan(100);
});

test('a sheet whose few bytes ask for a million repeated cells is refused for the ratio of its text', async () => {
  const cell = '<table:table-cell table:number-columns-repeated="1000"><text:p>wide</text:p></table:table-cell>';
  const rows = `<table:table-row table:number-rows-repeated="1000">${cell}</table:table-row>`;
  const sheet = makeOdf('spreadsheet', `<table:table table:name="S">${rows.repeat(4)}</table:table>`);
  expect(sheet.length).toBeLessThan(2_000);
  await expect(extract(sheet, 'a.ods')).rejects.toMatchObject({ category: 'too_large', retryable: false });
});

test('a book whose few bytes list one chapter a thousand times is read once', async () => {
  const spine = '<itemref idref="c0"/>'.repeat(1_000);
  const opf = `<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="c0" href="text/a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>${spine}</spine></package>`;
  const book = makeEpub({ 'a.xhtml': `<p>${'word '.repeat(10_000)}</p>` }, { more: { 'OEBPS/package.opf': opf } });
  expect(book.length).toBeLessThan(3_000);
  const { text } = await extract(book, 'a.epub');
  expect(text.match(/word/g)).toHaveLength(10_000);
});

test('a book whose few bytes unpack to one endless tag is read before the deadline', async () => {
  const book = makeEpub({ 'a.xhtml': `<p>word</p><${'a'.repeat(MIB)}` });
  expect(book.length).toBeLessThan(4_000);
  expect((await extract(book, 'a.epub', { deadlineMs: 30_000 })).text).toContain('word');
});
