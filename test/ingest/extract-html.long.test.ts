import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { readHtml } from '../../src/ingest/extract/read-html.ts';
import { makeHtml } from '../support/sample-files.ts';

function brief(html: string | Uint8Array, charset: string | null = null): string[] {
  const bytes = typeof html === 'string' ? Buffer.from(html) : html;
  return readHtml(bytes, charset).map(({ kind, level, text }) => `${kind}${level ?? ''}: ${text}`);
}

function extract(bytes: Buffer, fileName = 'page.html') {
  return extractDocument({ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName });
}

test('an HTML page is read in a child process, with its headings, lists, tables and code in order', async () => {
  const document = await extract(
    makeHtml(`
      <nav><a href="/">Home</a></nav>
      <h1>Hand<b>book</b></h1>
      <p>First &amp; foremost,
         it   wraps.<br>After a break.<script>bad()</script><style>p{}</style></p>
      <h2>Tests</h2>
      <ul><li>one<ul><li>inner</li></ul></li><li><p>two</p></li></ul><ol start="3"><li>three<li>four</ol>
      <table><caption>Scores</caption><tr><th>Model<th>Score</tr><tr><td>alpha</td><td>1<br>2</td></tr></table>
      <pre>if (x) {\n  y();\n}</pre>
      <noscript>no</noscript><template>no</template><iframe>no</iframe><svg><text>no</text></svg>
      loose text<div>in a box</div>`),
  );
  expect(document).toMatchObject({ format: 'html', pages: null, emptyPages: [], failedPages: [] });
  expect(document.blocks.map(({ kind, level, text }) => `${kind}${level ?? ''}: ${text}`)).toEqual([
    'heading1: Handbook',
    'paragraph: First & foremost, it wraps.\nAfter a break.',
    'heading2: Tests',
    'list_item1: - one',
    'list_item2: - inner',
    'list_item1: - two',
    'list_item1: 3. three',
    'list_item1: 4. four',
    'paragraph: Scores',
    'table: Model | Score\nalpha | 1 2',
    'code: if (x) {\n  y();\n}',
    'paragraph: loose text',
    'paragraph: in a box',
  ]);
  for (const block of document.blocks) expect(document.text.slice(block.start, block.end)).toBe(block.text);
});

test('the title becomes a heading only on a page without h1', () => {
  expect(brief('<title>A  page</title><h2>Part</h2>x')).toEqual(['heading1: A page', 'heading2: Part', 'paragraph: x']);
  expect(brief('<title>A page</title><h1>Own</h1>x')).toEqual(['heading1: Own', 'paragraph: x']);
  expect(brief('<title>A page</title><nav><h1>Menu</h1></nav>x')).toEqual(['heading1: A page', 'paragraph: x']);
});

test('a table that only positions blocks is read as blocks', () => {
  const inner = '<table><tr><td>a</td><td>b</td></tr></table>';
  expect(brief(`<table><tr><td><h2>Left</h2><p>words</p></td><td>${inner}</td></tr></table>`)).toEqual([
    'heading2: Left',
    'paragraph: words',
    'table: a | b',
  ]);
});

test('the charset is taken from the byte order mark, the content type, the meta element, or the bytes', () => {
  const body = Buffer.from('<p>\xc7\xd1\xb1\xdb\xb9\xae\xbc\xad</p>', 'latin1');
  const meta = (tag: string) => Buffer.concat([Buffer.from(`<html><head>${tag}</head>`), body]);
  expect(brief(meta('<meta charset="euc-kr">'))).toEqual(['paragraph: 한글문서']);
  expect(brief(meta('<meta http-equiv=Content-Type content="text/html; charset=ks_c_5601-1987">'))).toEqual([
    'paragraph: 한글문서',
  ]);
  expect(brief(body, 'euc-kr')).toEqual(['paragraph: 한글문서']);
  expect(brief(body)).toEqual(['paragraph: 한글문서']);
  expect(brief(meta('<meta charset="utf-8">'))).toEqual(['paragraph: 한글문서']);
  expect(brief(Buffer.from('\ufeff<meta charset="euc-kr"><p>한글'))).toEqual(['paragraph: 한글']);
  expect(brief(Buffer.from('\ufeff<p>한글', 'utf16le'))).toEqual(['paragraph: 한글']);
});

test.each<[string, string]>([
  ['divisions', '<div>'.repeat(100_000)],
  ['lists', '<ul><li>'.repeat(50_000)],
  ['tables', '<table><tr><td>'.repeat(20_000)],
  ['quotes and paragraphs', '<blockquote><p>'.repeat(50_000)],
  ['headings', '<h1><div>'.repeat(50_000)],
  ['listings', '<pre><div>'.repeat(50_000)],
])('deeply nested %s do not exhaust the stack', async (_, nested) => {
  const document = await extract(Buffer.from(`<!doctype html><title>t</title>${nested}deep words`));
  expect(document.text).toMatch(/deep words$/);
});

test('nothing that a page refers to is fetched', async () => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end('fetched');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const page = `<?xml version="1.0"?>
    <!DOCTYPE html [<!ENTITY file SYSTEM "file:///etc/hostname"><!ENTITY net SYSTEM "${base}/entity"><!ENTITY % p SYSTEM "${base}/p"> %p;]>
    <html><head><base href="${base}/"><link rel="stylesheet" href="${base}/a.css"><script src="${base}/a.js"></script>
    <meta http-equiv="refresh" content="0;url=${base}/refresh"></head>
    <body><p>kept [&file;] [&net;]</p><img src="${base}/a.png"><iframe src="${base}/frame"></iframe><object data="${base}/o"></object></body></html>`;
  const document = await extract(Buffer.from(page));
  server.close();
  expect(document.text).toContain('kept [&file;] [&net;]');
  expect(document.text).not.toContain('fetched');
  expect(requests).toEqual([]);
});
