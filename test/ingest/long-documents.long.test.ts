import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getVisibleJob } from '../../src/documents/job-documents.ts';
import type { ChunkArtifact } from '../../src/ingest/artifact.ts';
import { ArtifactWriter, readArtifact, readArtifactParts } from '../../src/ingest/artifact-store.ts';
import { ChunkBuffer } from '../../src/ingest/chunk-buffer.ts';
import type { TextWindow } from '../../src/ingest/extract/blocks.ts';
import { Deadline } from '../../src/ingest/extract/deadline.ts';
import { extractDocument, extractWindows } from '../../src/ingest/extract/extract-document.ts';
import { PAGE_CHUNKS, type PreparedChunk } from '../../src/ingest/prepare-chunks.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { openDiskObjects } from '../../src/platform/objects/disk.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import { openThreads } from '../../src/platform/threads.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';

const threads = openThreads();
afterAll(() => threads.close());
const never = new AbortController().signal;

function makeTable(rows: number): Buffer {
  const lines = Array.from({ length: rows }, (_, i) => `${i},이름 ${i},"a comment, with words about item ${i}"`);
  return Buffer.from(`id,이름,comment\n${lines.join('\n')}\n`);
}

const fileOf = (bytes: Buffer, fileName: string) => ({
  open: () => Readable.from([bytes]),
  sizeBytes: bytes.length,
  fileName,
});

async function windowsOf(bytes: Buffer, fileName: string, windowChars: number): Promise<TextWindow[]> {
  const windows: TextWindow[] = [];
  await extractWindows(
    fileOf(bytes, fileName),
    async (window) => {
      windows.push(window);
    },
    windowChars,
  );
  return windows;
}

describe('windows of a document', () => {
  it.each([
    ['table.csv', makeTable(5_000)],
    ['book.md', Buffer.from('# Part\n\n## Chapter\n\nSome words in a paragraph.\n\n'.repeat(2_000))],
    ['page.html', Buffer.from(`<!doctype html>${'<h1>Head</h1><p>text<ul><li>a<li>b</ul>'.repeat(3_000)}`)],
  ])('the windows of %s contain the whole text in order, and none ends in a heading', async (name, bytes) => {
    const whole = await extractDocument(fileOf(bytes, name));
    const windows = await windowsOf(bytes, name, 20_000);
    expect(windows.length).toBeGreaterThan(3);
    expect(windows.map(({ text }) => text).join('') === whole.text).toBe(true);
    const blocks = windows.flatMap(({ start, text, blocks: own }) => {
      expect(own.at(-1)?.kind).not.toBe('heading');
      for (const block of own) expect(text.slice(block.start, block.end)).toBe(block.text);
      return own.map((block) => ({ ...block, start: block.start + start, end: block.end + start }));
    });
    expect(blocks).toEqual(whole.blocks);
  });

  it('a document without text is one empty window', async () => {
    expect(await windowsOf(Buffer.from(' \n '), 'a.txt', 10)).toEqual([{ start: 0, text: '', blocks: [] }]);
  });

  it('the time of processing windows does not count against the deadline, but the time of reading does', async () => {
    let isOver = false;
    const deadline = new Deadline(100, () => {
      isOver = true;
    });
    await deadline.pause(setTimeout(300));
    expect(isOver).toBe(false);
    await until(async () => isOver, { withinMs: 5_000, everyMs: 10, what: 'the deadline' });
  });

  it('an error of processing a window ends the reading', async () => {
    const fault = new Error('no space');
    const fail = () => Promise.reject(fault);
    for (const [name, bytes] of [
      ['a.csv', makeTable(2_000)],
      ['a.html', Buffer.from(`<!doctype html>${'<p>words of a paragraph'.repeat(5_000)}`)],
    ] as const) {
      await expect(extractWindows(fileOf(bytes, name), fail, 10_000)).rejects.toBe(fault);
    }
  });
});

describe('chunks of a long document', () => {
  const all = async (buffer: ChunkBuffer) => {
    const chunks: PreparedChunk[] = [];
    for await (const page of buffer.pages()) chunks.push(...page);
    return chunks;
  };

  it('chunks of a long document are numbered slices of its text, with the header of their table', async () => {
    const bytes = makeTable(30_000);
    const { text } = await extractDocument(fileOf(bytes, 'table.csv'));
    const windows = await windowsOf(bytes, 'table.csv', 1024 * 1024);
    expect(windows.length).toBeGreaterThan(1);
    const buffer = new ChunkBuffer(threads, { chunkTokens: 64, overlapTokens: 10 });
    for (const window of windows) expect(await buffer.add(window, never)).toBe(true);
    const { count } = buffer;
    const chunks = await all(buffer);
    expect(chunks).toHaveLength(count);
    expect(count).toBeGreaterThan(3 * PAGE_CHUNKS);
    chunks.forEach((chunk, index) => {
      const { start, end, heading_path: path, table_header: header } = chunk.locator;
      expect(chunk.index).toBe(index);
      if (text.slice(start, end) !== chunk.text) expect.fail(`chunk ${index} is not at its position`);
      expect(path).toEqual([]);
      expect(header).toBe(index === 0 ? undefined : 'id | 이름 | comment');
      expect(chunk.embedText.startsWith('id | 이름 | comment')).toBe(true);
      expect(chunk.tokens.length).toBeGreaterThan(0);
    });
  });

  it('chunks of a long document are the same each time it is read', async () => {
    const bytes = makeTable(20_000);
    const read = async () => {
      const buffer = new ChunkBuffer(threads, { chunkTokens: 100, overlapTokens: 10 });
      for (const window of await windowsOf(bytes, 'table.csv', 200_000)) await buffer.add(window, never);
      return all(buffer);
    };
    expect(await read()).toEqual(await read());
  });
});

describe('a chunk artifact in parts', () => {
  let objects: Objects;
  let directory: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'parts-'));
    chmodSync(directory, 0o711);
    objects = await openDiskObjects({ directory });
  });
  afterAll(async () => {
    await objects.close();
    rmSync(directory, { recursive: true });
  });

  function partOf(from: number, count: number): ChunkArtifact {
    return {
      ...{ documentId: 'doc_1', generation: 7, model: 'm', space: 's', mapVersion: null, dimensions: 2 },
      chunks: Array.from({ length: count }, (_, i) => ({
        ...{ id: `doc_1_7_${from + i}`, index: from + i, text: `청크 ${from + i}`, token_count: 1 },
        locator: { page: null, heading_path: [], start: 0, end: 1 },
      })),
      vectors: Float32Array.from({ length: count * 2 }, (_, i) => from + i),
      native: { dimension: 3, revision: '1', vectors: Uint16Array.from({ length: count * 3 }, (_, i) => from + i) },
    };
  }
  const parts = [partOf(0, 300), partOf(300, 300), partOf(600, 5)];

  async function writeParts(key: string): Promise<Buffer> {
    const writer = new ArtifactWriter({ objects, threads }, key, { signal: never });
    for (const [nth, part] of parts.entries()) await writer.write(part, nth === parts.length - 1);
    return Buffer.from(await objects.get(key));
  }

  it('a chunk artifact in parts is read part by part, and as a whole', async () => {
    await writeParts('a/parts');
    const read: ChunkArtifact[] = [];
    for await (const part of readArtifactParts(objects, 'a/parts')) read.push(part);
    expect(read).toEqual(parts);
    const whole = await readArtifact(objects, 'a/parts');
    expect(whole.chunks.map(({ index }) => index)).toEqual(Array.from({ length: 605 }, (_, i) => i));
    expect(whole.vectors).toHaveLength(605 * 2);
    expect(whole.native?.vectors.subarray(900, 903)).toEqual(parts[1]?.native?.vectors.subarray(0, 3));
  });

  it('a chunk artifact of one part is written in layout 2', async () => {
    await new ArtifactWriter({ objects, threads }, 'a/one', { signal: never }).write(partOf(0, 3), true);
    expect(Buffer.from(await objects.get('a/one')).toString('latin1', 0, 8)).toBe('SVCCHNK2');
    expect(await readArtifact(objects, 'a/one')).toEqual(partOf(0, 3));
  });

  it('a chunk artifact in parts is refused when a byte or a part is missing or changed', async () => {
    const bytes = await writeParts('a/good');
    const length = bytes.readUInt32LE(8);
    const damaged = [
      bytes.subarray(0, 20),
      bytes.subarray(0, -1),
      bytes.subarray(0, 12 + length),
      Buffer.concat([bytes, Buffer.from('x')]),
      Buffer.concat([bytes.subarray(0, 8), bytes.subarray(12 + length)]),
      Buffer.concat([bytes.subarray(0, 8), Buffer.alloc(4)]),
      Buffer.from(bytes).fill(0xff, 8, 12),
      Buffer.from(bytes).fill(0, 100, 101 + 60),
    ];
    for (const [nth, copy] of damaged.entries()) {
      await objects.put('a/damaged', copy);
      await expect(readArtifact(objects, 'a/damaged'), String(nth)).rejects.toMatchObject({ code: 'artifact_corrupt' });
    }
    await expect(readArtifact(objects, 'a/missing')).rejects.toMatchObject({ code: 'object_not_found' });
  });

  it('an abandoned chunk artifact leaves no object', async () => {
    const writer = new ArtifactWriter({ objects, threads }, 'b/abandoned', { signal: never });
    await writer.write(parts[0] as ChunkArtifact, false);
    await writer.abandon(new Error('lost'));
    expect(await objects.head('b/abandoned')).toBeNull();
  });
});

it('a table of many pages is found from its first row to its last', async () => {
  const { appliance, operator, close } = await openTestAppliance();
  const worker = appliance.jobs.worker('ingest');
  try {
    await worker.start(never);
    const rows = 12_000;
    const content = { bytes: makeTable(rows), fileName: 'table.csv', contentType: 'text/csv' };
    const request = UploadRequest.parse({ chunk_size: 64, chunk_overlap: 0 });
    const { job_id: jobId, id } = await uploadDocument(appliance.ingest.uploads, operator, 'default', content, request);
    const job = await until(
      async () => {
        const found = await getVisibleJob(appliance.sql, operator, jobId as string);
        return ['ready', 'failed'].includes(found.status) && found;
      },
      { withinMs: 50_000, what: 'ingest' },
    );
    expect(job).toMatchObject({ status: 'ready', file_type: 'csv' });
    const chunks = job.chunks_count as number;
    expect(chunks).toBeGreaterThan(3 * PAGE_CHUNKS);
    const [row] = await appliance.sql`SELECT artifact_key, chunks_count FROM generations WHERE document_id = ${id}`;
    expect(row?.['chunks_count']).toBe(chunks);
    const artifact = await readArtifact(appliance.objects, row?.['artifact_key'] as string);
    expect(artifact.chunks.map(({ index }) => index)).toEqual(Array.from({ length: chunks }, (_, i) => i));
    for (const wanted of [0, rows / 2, rows - 1]) {
      const query = SearchRequest.parse({ query: `이름 ${wanted}`, mode: 'keyword', top_k: 3 });
      const { results } = await searchBucket(appliance.search, operator, 'default', query);
      expect(results.map(({ text }) => text).join('\n'), String(wanted)).toContain(`${wanted} | 이름 ${wanted} | `);
    }
  } finally {
    await worker.stop();
    await close();
  }
});
