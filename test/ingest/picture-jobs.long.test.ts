import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { getVisibleJob } from '../../src/documents/job-documents.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { JobView } from '../../src/jobs/schema.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { type Bitmap, drawText } from '../support/draw-text.ts';
import { encodePng, rotateLeft } from '../support/encode-image.ts';
import { FakeVision, respond } from '../support/fake-vision.ts';
import { createRandom } from '../support/random.ts';
import { damagedImage, encodeTiff, greyImage, makeScanPdf } from '../support/scan-samples.ts';
import { until } from '../support/until.ts';

interface Installation {
  readonly test: TestAppliance;
  readonly worker: Service;
}

let vision: FakeVision;
/** Installations with local text recognition, and with a vision model. */
let local: Installation;
let remote: Installation;

async function open(settings: Record<string, unknown> = {}): Promise<Installation> {
  const test = await openTestAppliance(settings);
  const worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  return { test, worker };
}

beforeAll(async () => {
  vision = await FakeVision.start();
  local = await open();
  remote = await open({ vision: { protocol: 'openai', base_url: vision.baseUrl('openai'), model: 'eyes' } });
});
afterAll(async () => {
  for (const { worker, test } of [local, remote]) {
    await worker.stop();
    await test.close();
  }
  await vision.close();
});

async function ingest(
  installation: Installation,
  fileName: string,
  bytes: Buffer,
  fields: Record<string, unknown> = {},
) {
  const { appliance, operator } = installation.test;
  const content = { bytes, fileName, contentType: null };
  const request = UploadRequest.parse({ on_duplicate: 'allow', ...fields });
  const { job_id: jobId } = await uploadDocument(appliance.ingest.uploads, operator, 'default', content, request);
  return until(
    async (): Promise<JobView | false> => {
      const job = await getVisibleJob(appliance.sql, operator, jobId as string);
      return ['ready', 'failed'].includes(job.status) && job;
    },
    { withinMs: 60_000 },
  );
}

async function search(installation: Installation, query: string) {
  const { appliance, operator } = installation.test;
  return (await searchBucket(appliance.search, operator, 'default', SearchRequest.parse({ query }))).results;
}

const page = (lines: string[]): Bitmap => drawText(lines);

/** Erase parts of the strokes, as on a bad copy. */
function worn(bitmap: Bitmap): Bitmap {
  const random = createRandom(7);
  return { ...bitmap, pixels: bitmap.pixels.map((shade) => (random.real() < 0.5 ? 255 : shade)) };
}

it('a scanned PDF is found by the text on its pages, and its job lists the recognised pages', async () => {
  const pdf = makeScanPdf([
    { text: 'A cover page with text.' },
    { images: [greyImage(page(['HELLO WORLD', 'VECTOR SEARCH 2047']))] },
    { images: [damagedImage()] },
    {},
  ]);
  const job = await ingest(local, 'scan.pdf', pdf);
  expect(job).toMatchObject({ status: 'ready', file_type: 'pdf' });
  expect(job.metadata_snapshot).toMatchObject({
    file_name: 'scan.pdf',
    extraction: { pages: 4, recognised_pages: [2], empty_pages: [4], failed_pages: [3], failed_count: 1 },
  });
  const [hit] = await search(local, 'vector search 2047');
  expect(hit?.citation).toMatchObject({ file_name: 'scan.pdf' });
  expect(hit?.text).toContain('VECTOR SEARCH 2047');
});

it.each([90, 180, 270])('a scan that is turned by %i degrees is found', async (degrees) => {
  let scan = page([`CRANE BOLLARD ${degrees}`, 'MOORING ROPES AND BUOYS']);
  for (let angle = 0; angle < degrees; angle += 90) scan = rotateLeft(scan);
  const job = await ingest(local, `turned-${degrees}.pdf`, makeScanPdf([{ images: [greyImage(scan)] }]));
  expect(job).toMatchObject({ status: 'ready', warnings: [] });
  expect((await search(local, `crane bollard ${degrees}`))[0]?.citation.file_name).toBe(`turned-${degrees}.pdf`);
});

it('the job of a page that was recognised with little confidence warns of it', async () => {
  const clean = page(['THE PILOT WAITS AT BUOY SEVEN']);
  const job = await ingest(
    local,
    'faint.pdf',
    makeScanPdf([{ images: [greyImage(clean)] }, { images: [greyImage(worn(clean))] }]),
  );
  expect(job).toMatchObject({
    status: 'ready',
    warnings: [expect.stringMatching(/^the text of page 2 was recognised with a confidence of \d\d %/)],
  });
  expect(job.metadata_snapshot).not.toHaveProperty('warnings');
});

it('the job of a completely read document has no extraction record', async () => {
  const job = await ingest(local, 'notes.txt', Buffer.from('A heron stands in the reeds.\n'));
  expect(job.metadata_snapshot).not.toHaveProperty('extraction');
});

it('a scanned PDF with ocr_strategy never fails with the reason', async () => {
  const pdf = makeScanPdf([{ images: [greyImage(page(['HELLO WORLD']))] }]);
  expect(await ingest(local, 'scan.pdf', pdf, { ocr_strategy: 'never' })).toMatchObject({
    ...{ status: 'failed', failed_phase: 'chunking', error_category: 'unsupported_type', retryable: false },
    error_message: expect.stringContaining('ocr_strategy'),
  });
});

it.each([
  ['photo.png', encodePng(page(['HARBOUR MASTER 77'])), 'png', 'harbour master 77'],
  ['fax.tif', encodeTiff([page(['HELLO']), page(['GRANITE QUARRY 31'])]), 'tiff', 'granite quarry 31'],
])('a picture is found by the text in it (%s)', async (name, bytes, type, query) => {
  expect(await ingest(local, name, bytes)).toMatchObject({ status: 'ready', file_type: type });
  expect((await search(local, query))[0]?.citation.file_name).toBe(name);
});

it('a picture without text and a damaged picture fail', async () => {
  const blank = { width: 200, height: 100, pixels: new Uint8Array(20_000).fill(255) };
  expect(await ingest(local, 'blank.png', encodePng(blank))).toMatchObject({
    ...{
      status: 'failed',
      error_category: 'unsupported_type',
      error_message: 'the file has no text',
      retryable: false,
    },
  });
  const damaged = Buffer.concat([encodePng(blank).subarray(0, 45), Buffer.alloc(100, 7)]);
  expect(await ingest(local, 'damaged.png', damaged)).toMatchObject({
    ...{ status: 'failed', failed_phase: 'extracting', error_category: 'corrupt', retryable: false },
  });
  expect(await ingest(local, 'photo.png', encodePng(blank), { ocr_strategy: 'never' })).toMatchObject({
    ...{ status: 'failed', failed_phase: 'extracting', error_category: 'unsupported_type' },
  });
});

it('a PDF whose pictures exceed the memory limit is read without them', async () => {
  const colours = { width: 5_000, height: 7_000, dict: '/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/FlateDecode' };
  const picture = { ...colours, stream: deflateSync(Buffer.alloc(5_000 * 7_000 * 3, 200), { level: 1 }) };
  const copies = Array.from({ length: 6 }, () => ({ ...picture }));
  const job = await ingest(local, 'album.pdf', makeScanPdf([{ text: 'An album of cormorants.' }, { images: copies }]));
  expect(job).toMatchObject({ status: 'ready', metadata_snapshot: { extraction: { empty_pages: [2] } } });
  expect((await search(local, 'album of cormorants'))[0]?.citation.file_name).toBe('album.pdf');
  expect(await ingest(local, 'photos.pdf', makeScanPdf([{ images: copies }]))).toMatchObject({
    ...{ status: 'failed', error_category: 'out_of_memory', retryable: false },
  });
});

it('a configured vision model reads pictures and scans', async () => {
  vision.answer = ({ image }) => `a photograph of a zeppelin of ${image.length > 0 ? 'silver' : 'nothing'}`;
  expect(await ingest(remote, 'photo.png', encodePng(page(['X'])))).toMatchObject({ status: 'ready' });
  const pdf = makeScanPdf([{ images: [greyImage(page(['X']))] }]);
  expect(await ingest(remote, 'scan.pdf', pdf)).toMatchObject({ status: 'ready' });
  const names = (await search(remote, 'silver zeppelin')).map((hit) => hit.citation.file_name);
  expect(names.sort()).toEqual(['photo.png', 'scan.pdf']);
  expect(vision.violations).toEqual([]);
});

it('a picture that the vision model refuses fails and is not retried', async () => {
  const error = { error: { message: 'this picture is not acceptable', code: 'content_policy' } };
  vision.answer = () => ({ take: (response) => respond(response, 400, error) });
  expect(await ingest(remote, 'photo.png', encodePng(page(['Y'])))).toMatchObject({
    ...{ status: 'failed', error_category: 'upstream_rejected', retryable: false },
  });
});
