import { createHash } from 'node:crypto';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute, type UploadedFile } from '../../../server/route.ts';
import { type Frame, parseResponse, postJson, RawClient, startFrame } from '../support.ts';

/** A route that answers what arrived, the file's bytes read back from disk among it. */
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

async function upload(frame: Frame, body: FormData, headers: Record<string, string> = {}) {
  const response = await fetch(`${frame.url}/v1/upload`, { method: 'POST', headers: { ...auth, ...headers }, body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown>, response };
}

/** What lies in the upload directory; it does not exist before the first upload. */
async function leftovers(frame: Frame): Promise<string[]> {
  return readdir(frame.uploadDirectory).catch(() => []);
}

function multipart(content: string): string {
  const head =
    'POST /v1/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer documents:write\r\nContent-Type: multipart/form-data; boundary=b\r\n';
  return `${head}Content-Length: ${content.length}\r\n\r\n${content}`;
}

const FILE_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';

describe('an upload', () => {
  test('arrives on disk under a generated name, with its fields, and is removed after the reply', async () => {
    const frame = await startFrame([uploading()]);
    const file = new File([new Uint8Array(200_000).map((_, i) => i * 7)], '../../한국어.pdf', {
      type: 'application/pdf',
    });
    const { status, body } = await upload(frame, form({ chunk_size: '400', tags: ['a', 'ü'], file }));
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
    expect(await leftovers(frame)).toEqual([]);
  });

  test('may be empty; what that means is for the handler', async () => {
    const frame = await startFrame([uploading()]);
    const { status, body } = await upload(frame, form({ file: new File([], 'empty.txt') }));
    expect([status, body]).toMatchObject([200, { file: { sizeBytes: 0 }, isTrue: true }]);
  });

  test('may come as JSON instead', async () => {
    const frame = await startFrame([uploading()]);
    const response = await postJson(frame, '/v1/upload', { filename: 'a' }, auth);
    expect(await response.json()).toEqual({ body: { filename: 'a' }, file: null });
  });

  test('may be moved away by the handler', async () => {
    const kept: string[] = [];
    const frame = await startFrame([
      uploading(async (file) => {
        kept.push(`${file.path}.kept`);
        await rename(file.path, `${file.path}.kept`);
      }),
    ]);
    expect((await upload(frame, form({ file: new File(['abc'], 'a') }))).status).toBe(200);
    expect(await readFile(kept[0] ?? '', 'utf8')).toBe('abc');
  });

  test('must have exactly one file, in the part "file"', async () => {
    const frame = await startFrame([uploading()]);
    const one = new File(['a'], 'a.txt');
    for (const body of [
      form({}),
      form({ filename: 'a' }),
      form({ file: 'a field' }),
      form({ other: one }),
      form({ file: [one, one] }),
      form({ file: one, other: one }),
    ]) {
      const { status, body: answer } = await upload(frame, body);
      expect([status, answer]).toEqual([
        400,
        { detail: 'file: send exactly one file, in a part named "file" with a file name' },
      ]);
    }
    expect(await leftovers(frame)).toEqual([]);
  });

  test('has its fields validated, and is removed when they are wrong', async () => {
    const frame = await startFrame([uploading()]);
    const { status, body } = await upload(frame, form({ file: new File(['a'], 'a'), chunk_size: 'many' }));
    expect([status, body]).toEqual([400, { detail: 'chunk_size: must be a number' }]);
    expect(await leftovers(frame)).toEqual([]);
  });

  test('is bounded: announced, streamed, fields by number and size', async () => {
    const frame = await startFrame([uploading()], { uploadBytes: 100_000 });
    const file = (size: number) => new File([new Uint8Array(size)], 'a');
    expect((await upload(frame, form({ file: file(100_000) }))).status).toBe(200);
    expect(await upload(frame, form({ file: file(100_001) }))).toMatchObject({
      status: 413,
      body: { detail: 'the body is larger than the limit of 100000 bytes' },
    });
    expect((await upload(frame, form({ file: file(3_000_000) }))).status).toBe(413);
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`f${i}`, 'x']));
    expect((await upload(frame, form({ ...many, file: file(1) }))).status).toBe(400);
    expect((await upload(frame, form({ filename: 'x'.repeat(1024 * 1024 + 1), file: file(1) }))).status).toBe(413);
    const proto = new FormData();
    proto.append('__proto__', 'x');
    proto.append('file', file(1));
    expect((await upload(frame, proto)).status).toBe(400);
    expect((await postJson(frame, '/v1/upload', { filename: 'x'.repeat(100_000) }, auth)).status).toBe(413);
    expect(await leftovers(frame)).toEqual([]);
  });

  test('without a length is bounded too', async () => {
    const frame = await startFrame([uploading()], { uploadBytes: 1000 });
    const client = await RawClient.connect(frame.port);
    const head =
      'POST /v1/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer documents:write\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n';
    client.write(`${head}${FILE_HEAD.length.toString(16)}\r\n${FILE_HEAD}\r\n`);
    client.write(`400\r\n${'x'.repeat(1024)}\r\n`);
    expect(parseResponse(await client.closedByServer()).status).toBe(413);
    expect(await leftovers(frame)).toEqual([]);
  });

  test('must be multipart with a boundary, or JSON', async () => {
    const frame = await startFrame([uploading()]);
    for (const type of [
      'text/plain',
      'multipart/mixed; boundary=b',
      'multipart/form-data',
      'multipart/form-data; boundary=',
    ]) {
      const headers = { ...auth, 'Content-Type': type };
      const response = await fetch(`${frame.url}/v1/upload`, { method: 'POST', headers, body: 'x' });
      expect(response.status).toBe(415);
    }
  });

  test('that is malformed is 400 and leaves nothing', async () => {
    const frame = await startFrame([uploading()]);
    for (const content of [
      '',
      'x',
      '--b\r\n',
      '--b--',
      FILE_HEAD,
      `${FILE_HEAD}x\r\n--b`,
      `${FILE_HEAD}x\r\n--bad\r\n`,
    ]) {
      const client = await RawClient.connect(frame.port);
      client.write(multipart(content));
      const { status, json } = parseResponse(await client.until(/"\}$/));
      expect([status, json]).toMatchObject([400, { detail: expect.any(String) }]);
    }
    expect(await leftovers(frame)).toEqual([]);
  });

  test.each([
    // A client that closes its side may still read the answer; a reset leaves nobody to answer.
    ['closed', 400, (client: RawClient) => client.socket.end()],
    ['reset', 499, (client: RawClient) => client.socket.resetAndDestroy()],
  ])('whose connection is %s in the middle leaves nothing', async (_how, status, cutOff) => {
    const frame = await startFrame([uploading()]);
    const client = await RawClient.connect(frame.port);
    client.write(multipart(`${FILE_HEAD}${'x'.repeat(100_000)}`).slice(0, 50_000));
    await expect.poll(() => leftovers(frame)).toHaveLength(1);
    cutOff(client);
    await expect.poll(() => leftovers(frame)).toEqual([]);
    await expect
      .poll(async () => (await frame.metrics.httpRequests.get()).values)
      .toEqual([{ value: 1, labels: { operation: 'upload', status } }]);
  });

  test('is removed when the handler fails', async () => {
    const frame = await startFrame([uploading(() => Promise.reject(new Error('boom')))]);
    expect((await upload(frame, form({ file: new File(['a'], 'a') }))).status).toBe(500);
    expect(await leftovers(frame)).toEqual([]);
  });

  test('is 503 when it cannot be written', async () => {
    const frame = await startFrame([uploading()]);
    await writeFile(frame.uploadDirectory, 'a file where the directory should be');
    const { status, body, response } = await upload(frame, form({ file: new File(['a'], 'a') }));
    expect([status, body]).toEqual([503, { detail: 'the upload could not be stored; try again' }]);
    expect(response.headers.get('retry-after')).toBe('2');
  });

  test('is one with another under the same Idempotency-Key when file and fields are the same', async () => {
    const frame = await startFrame([uploading(undefined, true)]);
    const key = { 'Idempotency-Key': 'k' };
    const first = await upload(frame, form({ filename: 'x', file: new File(['abc'], 'a') }), key);
    const again = await upload(frame, form({ file: new File(['abc'], 'a'), filename: 'x' }), key);
    expect(again.response.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect((await upload(frame, form({ filename: 'x', file: new File(['abd'], 'a') }), key)).status).toBe(422);
    expect((await upload(frame, form({ filename: 'x', file: new File(['abc'], 'b') }), key)).status).toBe(422);
    expect((await upload(frame, form({ filename: 'y', file: new File(['abc'], 'a') }), key)).status).toBe(422);
    expect(await leftovers(frame)).toEqual([]);
  });
});
