import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildSite } from '../../src/console/site.ts';

const ROOT = path.join(import.meta.dirname, '../..');
let folder: string;
let pages: string[];
beforeAll(() => {
  folder = path.join(mkdtempSync(path.join(tmpdir(), 'site-')), 'site');
  pages = buildSite(folder);
});
afterAll(() => rmSync(path.dirname(folder), { recursive: true }));

const read = (page: string) => readFileSync(path.join(folder, page), 'utf8');

test('README and every page of docs are rendered, and each page links to all others', () => {
  expect(pages).toEqual(expect.arrayContaining(['index.html', 'docs/search.html', 'docs/cli/index.html']));
  for (const page of pages) {
    const html = read(page);
    expect([page, html.match(/<a href/g)?.length ?? 0]).toEqual([page, expect.any(Number)]);
    expect(html).toContain('aria-current="page"');
    expect(html).not.toMatch(/<script|javascript:|href="(?!https:)[^"]*\.md[#"]/);
  }
});

test('the index of docs names every page of docs, so that each has its group in the navigation', () => {
  const index = readFileSync(path.join(ROOT, 'docs/README.md'), 'utf8');
  const own = pages.filter((page) => /^docs\/[^/]+$/.test(page) && page !== 'docs/index.html');
  const names = own.map((page) => `${path.basename(page, '.html')}.md`);
  expect(names.filter((name) => !index.includes(`(${name}`))).toEqual([]);
});

test('every link of the site leads to a page of it, to a heading, or to a file of the project', () => {
  const faults: string[] = [];
  for (const page of pages) {
    for (const [, href = ''] of read(page).matchAll(/(?:href|src)="([^"]+)"/g)) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(href)) continue;
      const [file = '', anchor] = href.split('#');
      const target = file === '' ? page : path.join(path.dirname(page), file);
      const isPage = existsSync(path.join(folder, target));
      if (!isPage && !existsSync(path.join(ROOT, target))) faults.push(`${page}: ${href}`);
      if (isPage && anchor !== undefined && !read(target).includes(`id="${decodeURIComponent(anchor)}"`)) {
        faults.push(`${page}: ${href}`);
      }
    }
  }
  expect(faults).toEqual([]);
});
