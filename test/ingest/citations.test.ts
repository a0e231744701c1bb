import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getVisibleJob } from '../../src/documents/job-documents.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { SearchRequest, type SearchResult } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { makeMail } from '../support/make-mail.ts';
import { docxParagraph, makeDocx, makePptx, makeXlsx, pptxShape } from '../support/office-samples.ts';
import { until } from '../support/until.ts';

let test: TestAppliance;
let worker: Service;

beforeAll(async () => {
  test = await openTestAppliance();
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

async function ingest(fileName: string, bytes: string | Uint8Array): Promise<void> {
  const content = { bytes: Buffer.from(bytes as Uint8Array), fileName, contentType: null };
  const { appliance, operator } = test;
  const { job_id: id } = await uploadDocument(
    appliance.ingest.uploads,
    operator,
    'default',
    content,
    UploadRequest.parse({}),
  );
  const job = await until(
    async () => {
      const found = await getVisibleJob(appliance.sql, operator, id as string);
      return ['ready', 'failed'].includes(found.status) && found;
    },
    { withinMs: 60_000 },
  );
  expect(job).toMatchObject({ status: 'ready', warnings: [] });
}

async function best(query: string): Promise<SearchResult> {
  const request = SearchRequest.parse({ query, mode: 'keyword' });
  const [hit] = (await searchBucket(test.appliance.search, test.operator, 'default', request)).results;
  return hit as SearchResult;
}

const style = (name: string) => `<w:pStyle w:val="${name}"/>`;

describe('the citation of a result', () => {
  it('a line of an attachment is cited with that attachment, never with another one', async () => {
    const manual = makeDocx(docxParagraph('2 Storage', style('H1')) + docxParagraph('Keep the gasket dry.'));
    await ingest(
      'minutes.eml',
      makeMail([
        { type: 'text/plain', body: 'See the files.' },
        { type: 'application/octet-stream', name: 'pump-manual.docx', body: manual },
        { type: 'text/plain', name: 'notes.txt', body: 'The flywheel was balanced in Busan.' },
        { type: 'text/plain', name: 'notes.txt', body: 'The crankshaft went to Incheon.' },
      ]),
    );
    const gasket = await best('gasket dry');
    expect(gasket.citation.locator).toMatchObject({
      file: 'pump-manual.docx',
      heading_path: expect.arrayContaining(['pump-manual.docx', '2 Storage']),
    });
    const flywheel = await best('flywheel balanced');
    expect(flywheel.citation.locator).toMatchObject({ file: 'notes.txt' });
    expect(flywheel.citation.locator.heading_path.at(-1)).toBe('notes.txt');
    expect(flywheel.text).not.toMatch(/gasket|crankshaft/);
    expect((await best('crankshaft')).citation.locator.file).toBe('notes.txt (2)');
  });

  it('rows of a spreadsheet are cited by the name of their sheet, and later ones have the names of the columns', async () => {
    const row = (number: number, ...cells: string[]) =>
      `<row r="${number}">${cells.map((value, i) => `<c r="${'ABC'[i]}${number}" t="str"><v>${value}</v></c>`).join('')}</row>`;
    const rows = Array.from({ length: 300 }, (_, i) => row(i + 3, `bolt${i}`, `${i}.50`, `shelf ${i % 7}`));
    await ingest(
      'stock.xlsx',
      makeXlsx({
        Prices: [row(1, 'Prices of 2024'), row(2, 'Article', 'Price', 'Place'), ...rows].join(''),
        Remarks: row(1, 'Anvils are sold out'),
      }),
    );
    const bolt = await best('bolt257');
    expect(bolt.text).toMatch(/^Article \| Price \| Place\nbolt\d+ \|/);
    expect(bolt.citation.locator).toMatchObject({ sheet: 'Prices', page: null, heading_path: ['Prices'] });
    const anvils = await best('anvils sold');
    expect(anvils.citation.locator).toMatchObject({ sheet: 'Remarks', page: null });
    expect(anvils.text).toBe('Remarks\n\nAnvils are sold out');
  });

  it('later rows of a CSV file have the names of the columns', async () => {
    const rows = Array.from({ length: 400 }, (_, i) => `walrus${i},${i},zone ${i % 9}`);
    await ingest('animals.csv', ['name,weight,zone', ...rows].join('\n'));
    expect((await best('walrus377')).text).toMatch(/^name \| weight \| zone\nwalrus\d+ \|/);
    expect((await best('walrus0')).text).toMatch(/^name \| weight \| zone\nwalrus0 \|/);
  });

  it('a chunk has text of one slide only', async () => {
    const slide = (title: string, text: string) => pptxShape('title', title) + pptxShape(null, text);
    await ingest('talk.pptx', makePptx([slide('Aim', 'Cheaper turbines.'), slide('Way', 'Thinner rotor blades.')]));
    const hit = await best('thinner rotor blades');
    expect(hit).toMatchObject({ text: 'Way\n\nThinner rotor blades.', citation: { locator: { page: 2, slide: 2 } } });
  });

  it('small sections share a chunk that names all of them, and the citation is the section of the best sentence', async () => {
    await ingest(
      'rules.md',
      '# Rules\n\n## 1.1 Keys\n\nThe janitor has the keys.\n\n## 1.2 Lamps\n\nSwitch off every chandelier at night.\n',
    );
    const lamps = await best('switch off the chandelier');
    const sections = [
      ['Rules', '1.1 Keys'],
      ['Rules', '1.2 Lamps'],
    ];
    expect(lamps.citation.locator.heading_path).toEqual(sections[1]);
    expect(lamps.citation.locator.places?.map(({ heading_path }) => heading_path)).toEqual(sections);
    const keys = await best('who is the janitor');
    expect(keys).toMatchObject({ id: lamps.id, citation: { locator: { heading_path: sections[0] } } });
  });

  it('navigation and tables of contents rank below text, and are found where nothing else matches', async () => {
    const links = ['Harpoon storage', 'Harpoon repair', 'Sextant', 'Astrolabe'].map(
      (name) => `<li><a href="#">${name}</a></li>`,
    );
    const text =
      '<p>In winter the crew keeps each harpoon in the dry storage behind the mast, wrapped in oiled cloth.</p>';
    await ingest(
      'ship.html',
      `<body><div class="site-menu"><ul>${links.join('')}</ul></div><h1>Ship</h1>${text}</body>`,
    );
    const hit = await best('harpoon storage');
    expect(hit.text).toContain('oiled cloth');
    expect(hit.text).not.toContain('Sextant');
    expect(hit.citation.locator.boilerplate).toBeUndefined();
    expect((await best('astrolabe')).citation.locator).toMatchObject({ boilerplate: true });
  });
});
