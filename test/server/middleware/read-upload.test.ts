import { createHash } from 'node:crypto';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute, type UploadedFile } from '../../../server/route.ts';
import { parseResponse, postJson, RawClient, startTestServer, type TestServer } from '../support.ts';

/** Make a route that returns what it received, with facts about the file that it read from disk. */
function uploading(onFile: (file: UploadedFile) => Promise<void> = async () => undefined, idempotent = false) {
  return defineRoute({
    method: 'POST',
    path: '/v1/upload',
    operationId: 'upload',
    summary: 'Takes a file',
    access: 'documents:write',
    errors: 'detail',
    reads: 'upload',
    idempotent,
    body: z.object({
      filename: z.string().optional(),
      chunk_size: z.coerce.number().optional(),
      tags: z.union([z.string(), z.array(z.string())]).optional(),
    }),
    responses: {},
    async handle({ body, file }) {
      if (file === null) return { body: { body, file } };
      const bytes = await readFile(file.path);
      const mode = (await stat(file.path)).mode & 0o777;
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      await onFile(file);
      const { path: where, ...rest } = file;
      return { body: { body, file: rest, mode, isTrue: sha256 === file.sha256, name: path.basename(where) } };
    },
  });
}

const auth = { Authorization: 'Bearer documents:write' };

function form(parts: Record<string, string | File | (string | File)[]>): FormData {
  const data = new FormData();
  for (const [name, values] of Object.entries(parts)) for (const value of [values].flat()) data.append(name, value);
  return data;
}

async function upload(server: TestServer, body: FormData, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/v1/upload`, { method: 'POST', headers: { ...auth, ...headers }, body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown>, response };
}

/** List the upload directory; it does not exist before the first upload. */
async function leftovers(server: TestServer): Promise<string[]> {
  return readdir(server.uploadDirectory).catch(() => []);
}

function multipart(content: string): string {
  const head =
    'POST /v1/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer documents:write\r\nContent-Type: multipart/form-data; boundary=b\r\n';
  return `${head}Content-Length: ${content.length}\r\n\r\n${content}`;
}

const FILE_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';

describe('an upload', () => {
  test('an upload is written to disk under a generated name, and removed after the reply', async () => {
    const server = await startTestServer([uploading()]);
    const file = new File([new Uint8Array(200_000).map((_, i) => i * 7)], '../../한국어.pdf', {
      type: 'application/pdf',
    });
    const { status, body } = await upload(server, form({ chunk_size: '400', tags: ['a', 'ü'], file }));
    expect([status, body]).toMatchObject([
      200,
      {
        body: { chunk_size: 400, tags: ['a', 'ü'] },
        file: { fileName: '../../한국어.pdf', contentType: 'application/pdf', sizeBytes: 200_000 },
        mode: 0o600,
        isTrue: true,
      },
    ]);
    expect(body['name']).toMatch(/^upload_[0-9a-z]{26}$/);
    expect(await leftovers(server)).toEqual([]);
  });

  test('an upload may be empty', async () => {
    const server = await startTestServer([uploading()]);
    const { status, body } = await upload(server, form({ file: new File([], 'empty.txt') }));
    expect([status, body]).toMatchObject([200, { file: { sizeBytes: 0 }, isTrue: true }]);
  });

  test('an upload may be JSON', async () => {
    const server = await startTestServer([uploading()]);
    const response = await postJson(server, '/v1/upload', { filename: 'a' }, auth);
    expect(await response.json()).toEqual({ body: { filename: 'a' }, file: null });
  });

  test('an upload may be moved by the handler', async () => {
    const kept: string[] = [];
    const server = await startTestServer([
      uploading(async (file) => {
        kept.push(`${file.path}.kept`);
        await rename(file.path, `${file.path}.kept`);
      }),
    ]);
    expect((await upload(server, form({ file: new File(['abc'], 'a') }))).status).toBe(200);
    expect(await readFile(kept[0] ?? '', 'utf8')).toBe('abc');
  });

  test('an upload must have exactly one file, in the part "file"', async () => {
    const server = await startTestServer([uploading()]);
    const one = new File(['a'], 'a.txt');
    for (const body of [
      form({}),
      form({ filename: 'a' }),
      form({ file: 'a field' }),
      form({ other: one }),
      form({ file: [one, one] }),
      form({ file: one, other: one }),
    ]) {
      const { status, body: answer } = await upload(server, body);
      expect([status, answer]).toEqual([
        400,
        { detail: 'file: send exactly one file, in a part named "file" with a file name' },
      ]);
    }
    expect(await leftovers(server)).toEqual([]);
  });

  test('an upload is removed if its fields are not valid', async () => {
    const server = await startTestServer([uploading()]);
    const { status, body } = await upload(server, form({ file: new File(['a'], 'a'), chunk_size: 'many' }));
    expect([status, body]).toEqual([400, { detail: 'chunk_size: must be a number' }]);
    expect(await leftovers(server)).toEqual([]);
  });

  test('an upload is bounded in size, and its fields in number and size', async () => {
    const server = await startTestServer([uploading()], { uploadBytes: 100_000 });
    const file = (size: number) => new File([new Uint8Array(size)], 'a');
    expect((await upload(server, form({ file: file(100_000) }))).status).toBe(200);
    expect(await upload(server, form({ file: file(100_001) }))).toMatchObject({
      status: 413,
      body: { detail: 'the body is larger than the limit of 100000 bytes' },
    });
    expect((await upload(server, form({ file: file(3_000_000) }))).status).toBe(413);
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`f${i}`, 'x']));
    expect((await upload(server, form({ ...many, file: file(1) }))).status).toBe(400);
    expect((await upload(server, form({ filename: 'x'.repeat(1024 * 1024 + 1), file: file(1) }))).status).toBe(413);
    const proto = new FormData();
    proto.append('__proto__', 'x');
    proto.append('file', file(1));
    expect((await upload(server, proto)).status).toBe(400);
    expect((await postJson(server, '/v1/upload', { filename: 'x'.repeat(100_000) }, auth)).status).toBe(413);
    expect(await leftovers(server)).toEqual([]);
  });

  test('an upload without a length is bounded', async () => {
    const server = await startTestServer([uploading()], { uploadBytes: 1000 });
    const client = await RawClient.connect(server.port);
    const head =
      'POST /v1/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer documents:write\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n';
    client.write(`${head}${FILE_HEAD.length.toString(16)}\r\n${FILE_HEAD}\r\n`);
    client.write(`400\r\n${'x'.repeat(1024)}\r\n`);
    expect(parseResponse(await client.closedByServer()).status).toBe(413);
    expect(await leftovers(server)).toEqual([]);
  });

  test('an upload must be multipart with a boundary, or JSON', async () => {
    const server = await startTestServer([uploading()]);
    for (const type of [
      'text/plain',
      'multipart/mixed; boundary=b',
      'multipart/form-data',
      'multipart/form-data; boundary=',
    ]) {
      const headers = { ...auth, 'Content-Type': type };
      const response = await fetch(`${server.url}/v1/upload`, { method: 'POST', headers, body: 'x' });
      expect(response.status).toBe(415);
    }
  });

  test('a malformed upload is refused with 400 and leaves no file', async () => {
    const server = await startTestServer([uploading()]);
    for (const content of [
      '',
      'x',
      '--b\r\n',
      '--b--',
      FILE_HEAD,
      `${FILE_HEAD}x\r\n--b`,
      `${FILE_HEAD}x\r\n--bad\r\n`,
    ]) {
      const client = await RawClient.connect(server.port);
      client.write(multipart(content));
      const { status, json } = parseResponse(await client.until(/"\}$/));
      expect([status, json]).toMatchObject([400, { detail: expect.any(String) }]);
    }
    expect(await leftovers(server)).toEqual([]);
  });

  test.each([
    // A client that closes its side may still read the response; after a reset there is no client.
    ['closed', 400, (client: RawClient) => client.socket.end()],
    ['reset', 499, (client: RawClient) => client.socket.resetAndDestroy()],
  ])('an upload whose connection is %s in the middle leaves no file', async (_how, status, cutOff) => {
    const server = await startTestServer([uploading()]);
    const client = await RawClient.connect(server.port);
    client.write(multipart(`${FILE_HEAD}${'x'.repeat(100_000)}`).slice(0, 50_000));
    await expect.poll(() => leftovers(server)).toHaveLength(1);
    cutOff(client);
    await expect.poll(() => leftovers(server)).toEqual([]);
    await expect
      .poll(async () => (await server.metrics.httpRequests.get()).values)
      .toMatchObject([{ value: 1, labels: { operation: 'upload', status: String(status) } }]);
  });

  test('an upload is removed if the handler fails', async () => {
    const server = await startTestServer([uploading(() => Promise.reject(new Error('boom')))]);
    expect((await upload(server, form({ file: new File(['a'], 'a') }))).status).toBe(500);
    expect(await leftovers(server)).toEqual([]);
  });

  test('an upload that cannot be written is refused with 503', async () => {
    const server = await startTestServer([uploading()]);
    await writeFile(server.uploadDirectory, 'a file where the directory should be');
    const { status, body, response } = await upload(server, form({ file: new File(['a'], 'a') }));
    expect([status, body]).toEqual([503, { detail: 'the upload could not be stored; try again' }]);
    expect(response.headers.get('retry-after')).toBe('2');
  });

  test('an upload with the same Idempotency-Key is a repetition if file and fields are equal', async () => {
    const server = await startTestServer([uploading(undefined, true)]);
    const key = { 'Idempotency-Key': 'k' };
    const first = await upload(server, form({ filename: 'x', file: new File(['abc'], 'a') }), key);
    const again = await upload(server, form({ file: new File(['abc'], 'a'), filename: 'x' }), key);
    expect(again.response.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await upload(server, form({ filename: 'x', file: new File(['abd'], 'a') }), key)).status).toBe(422);
    expect((await upload(server, form({ filename: 'x', file: new File(['abc'], 'b') }), key)).status).toBe(422);
    expect((await upload(server, form({ filename: 'y', file: new File(['abc'], 'a') }), key)).status).toBe(422);
    expect(await leftovers(server)).toEqual([]);
  });
});
