import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '../../src/platform/errors.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import { openS3Objects, type S3Options } from '../../src/platform/objects/s3.ts';
import { Secret } from '../../src/platform/secret.ts';
import { testObjects } from '../conformance/objects.ts';
import { freePort } from '../support/free-port.ts';
import { keepLogs } from '../support/logs.ts';
import { s3Available, s3Settings, startS3, type TestS3 } from '../support/s3.ts';
import { type S3Fault, type S3Proxy, startS3Proxy } from '../support/s3-proxy.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const OPTIONS: S3Options = { partBytes: 5 * MIB, pageKeysMax: 7, idleMs: 10_000, attemptsMax: 2 };
const UNAVAILABLE = { code: 'objects_unavailable', status: 503, retryable: true };

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function keysOf(objects: Objects): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list('')) keys.push(key);
  return keys;
}

describe.skipIf(!s3Available())('with a server', () => {
  let s3: TestS3;
  beforeAll(async () => {
    s3 = await startS3();
  });
  afterAll(() => s3?.drop());

  testObjects('S3', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'service-test-objects-'));
    const settings = s3Settings(s3.endpoint, await s3.createBucket(), { prefix: 'one/of-many/' });
    const objects = await openS3Objects(settings, keepLogs().logger, OPTIONS);
    return {
      objects,
      directory,
      async close() {
        await objects.close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  });

  describe('the S3 driver', () => {
    let proxy: S3Proxy;
    let bucket: string;
    let objects: Objects;
    let logs: ReturnType<typeof keepLogs>;
    beforeEach(async () => {
      proxy = await startS3Proxy(s3.endpoint);
      bucket = await s3.createBucket();
      logs = keepLogs();
      objects = await openS3Objects(s3Settings(proxy.endpoint, bucket), logs.logger, OPTIONS);
    });
    afterEach(async () => {
      await objects.close();
      await proxy.close();
    });

    /** Let the first `times` requests that match fail with `fault`; the others succeed. */
    function failFirst(times: number, matches: RegExp, fault: S3Fault): void {
      let left = times;
      proxy.decide = ({ method, path }) => (matches.test(`${method} ${path}`) && left-- > 0 ? fault : null);
    }
    const requests = (matches: RegExp) => proxy.seen.filter((line) => matches.test(line)).length;
    /** Body of 12.5 MiB, which is uploaded in three parts. */
    const large = Array.from({ length: 25 }, () => randomBytes(MIB / 2));

    test('objects are stored below the prefix, and no others are listed', async () => {
      const other = s3Settings(s3.endpoint, bucket, { prefix: 'other/' });
      const beside = await openS3Objects(other, logs.logger);
      await objects.put('a/one', Buffer.from('x'));
      await beside.put('a/two', Buffer.from('x'));
      expect(await keysOf(objects)).toEqual(['a/one']);
      await beside.deletePrefix('a/');
      expect(await objects.head('a/one')).toEqual({ sizeBytes: 1 });
      await beside.close();
    });

    test('a large body is sent in parts, and a small one by one request', async () => {
      await objects.put('small', Readable.from([Buffer.alloc(5 * MIB)]));
      expect([requests(/^PUT .*small/), requests(/partNumber|uploads/)]).toEqual([1, 1]); // the list of uploads when the storage was opened
      const { sha256: hash } = await objects.put('large', Readable.from(large));
      expect(hash).toBe(sha256(Buffer.concat(large)));
      const parts = proxy.seen.map((line) => /^PUT .*partNumber=(\d+)/.exec(line)?.[1]).filter(Boolean);
      expect([...new Set(parts)].toSorted()).toEqual(['1', '2', '3']);
    });

    test('an upload whose body fails, or that is aborted, is removed', async () => {
      const failing = async function* (fail: () => void) {
        yield* large;
        fail();
        yield Buffer.alloc(1);
      };
      const broken = Readable.from(
        failing(() => {
          throw new Error('upstream went away');
        }),
      );
      await expect(objects.put('large', broken)).rejects.toThrow('upstream went away');
      const abort = new AbortController();
      const left = Readable.from(failing(() => abort.abort(new Error('enough'))));
      await expect(objects.put('large', left, { signal: abort.signal })).rejects.toThrow('enough');
      expect(requests(/^DELETE .*uploadId=/)).toBe(2);
      expect(await objects.head('large')).toBeNull();
    });

    test('unfinished uploads are removed when the storage is opened', async () => {
      let isStopped = false;
      proxy.decide = ({ method, path }) => {
        isStopped ||= path.includes('partNumber=2');
        return isStopped && method !== 'HEAD' ? 'cut before' : null;
      };
      await expect(objects.put('large', Readable.from(large))).rejects.toMatchObject(UNAVAILABLE);
      proxy.decide = () => null;
      const abandoned = () => openS3Objects(s3Settings(proxy.endpoint, bucket), logs.logger, { abandonedMs: 0 });
      const removed = () => requests(/^DELETE .*uploadId=/);
      const before = removed();
      await (await openS3Objects(s3Settings(proxy.endpoint, bucket), logs.logger)).close();
      expect(removed()).toBe(before);
      await (await abandoned()).close();
      expect(removed()).toBe(before + 1);
      await (await abandoned()).close();
      expect(removed()).toBe(before + 1);
    });

    test.each([
      ['by one request', /^PUT .*once/, () => Buffer.from('mine')],
      ['in parts', /^POST .*uploadId=/, () => Readable.from(large)],
    ])('a write %s succeeds if only its answer was lost', async (_what, lost, body) => {
      failFirst(1, lost, 'cut after');
      const { sizeBytes } = await objects.put('once', body(), { ifAbsent: true });
      expect(await objects.head('once')).toEqual({ sizeBytes });
      await expect(objects.put('once', Buffer.from('other'), { ifAbsent: true })).rejects.toMatchObject({
        code: 'object_exists',
      });
      expect(await objects.head('once')).toEqual({ sizeBytes });
    });

    test('a write is tried again if the store reports a conflict of two writes', async () => {
      failFirst(3, /^PUT/, { status: 409, code: 'ConditionalRequestConflict' });
      await objects.put('once', Buffer.from('x'), { ifAbsent: true });
      expect(await objects.head('once')).toEqual({ sizeBytes: 1 });
    });

    test.each(['broken off', 'silent'] as const)('a download that is %s is resumed', async (body) => {
      const impatient = await openS3Objects(s3Settings(proxy.endpoint, bucket), logs.logger, {
        ...OPTIONS,
        idleMs: 700,
      });
      const bytes = Buffer.concat(large);
      await objects.put('large', bytes);
      failFirst(2, /^GET .*large/, { body, afterBytes: 2 * MIB + 17 });
      expect(sha256(await impatient.get('large'))).toBe(sha256(bytes));
      failFirst(1, /^GET .*large/, { body, afterBytes: 2 * MIB + 17 });
      const part = await buffer(impatient.stream('large', { start: 1000, end: 8 * MIB }));
      expect(sha256(part)).toBe(sha256(bytes.subarray(1000, 8 * MIB + 1)));
      failFirst(100, /^GET .*large/, { body, afterBytes: 1 });
      await expect(impatient.get('large')).rejects.toMatchObject(UNAVAILABLE);
      await impatient.close();
    });

    test('a download whose bytes do not match the checksum fails', async () => {
      await objects.put('one', randomBytes(MIB));
      failFirst(1, /^GET .*one/, { body: 'damaged', afterBytes: 500_000 });
      expect(await objects.get('one').catch((error) => error)).toMatchObject(UNAVAILABLE);
      failFirst(1, /^GET .*one/, { body: 'damaged', afterBytes: 500_000 });
      await expect(buffer(objects.stream('one'))).rejects.toMatchObject(UNAVAILABLE);
      expect(await objects.get('one')).toHaveLength(MIB);
    });

    test('a download fails if another object replaces the object meanwhile', async () => {
      await objects.put('one', Buffer.concat(large));
      let isReplaced = false;
      proxy.decide = ({ method }) => {
        if (method !== 'GET') return null;
        return isReplaced ? null : { body: 'broken off', afterBytes: MIB };
      };
      const reading = (async () => {
        for await (const _chunk of objects.stream('one')) {
          if (isReplaced) continue;
          isReplaced = true;
          await objects.put('one', Buffer.alloc(13 * MIB));
        }
      })();
      await expect(reading).rejects.toMatchObject(UNAVAILABLE);
    });

    test('a download stops when it is destroyed or aborted, even while the store is silent', async () => {
      await objects.put('large', Buffer.concat(large));
      const patient = await openS3Objects(s3Settings(proxy.endpoint, bucket), logs.logger, { idleMs: 60_000 });
      failFirst(2, /^GET .*large/, { body: 'silent', afterBytes: MIB });
      const stream = patient.stream('large');
      for await (const _chunk of stream) break;
      expect(stream.destroyed).toBe(true);
      const abort = new AbortController();
      const reading = patient.get('large', { signal: abort.signal });
      await until(async () => requests(/^GET .*large/) === 2);
      abort.abort(new Error('enough'));
      await expect(reading).rejects.toThrow('enough');
      await until(async () => proxy.openRequests() === 0);
      await patient.close();
    });

    test.each<[string, S3Fault, object]>([
      ['503 SlowDown', { status: 503, code: 'SlowDown' }, UNAVAILABLE],
      ['500 InternalError', { status: 500, code: 'InternalError' }, UNAVAILABLE],
      ['a cut connection', 'cut before', UNAVAILABLE],
      ['403 ExpiredToken', { status: 403, code: 'ExpiredToken' }, UNAVAILABLE],
      ['403 AccessDenied', { status: 403, code: 'AccessDenied' }, { code: 'objects_refused', retryable: false }],
      ['404 NoSuchBucket', { status: 404, code: 'NoSuchBucket' }, { code: 'objects_refused', retryable: false }],
      ['301', { status: 301, code: 'PermanentRedirect' }, { code: 'objects_refused', retryable: false }],
      ['507', { status: 507, code: 'XMinioStorageFull' }, { code: 'storage_full', retryable: true }],
    ])('an answer of %s becomes a typed error', { timeout: 30_000 }, async (_what, fault, expected) => {
      proxy.decide = () => fault;
      await expect(objects.put('a', Buffer.from('x'))).rejects.toMatchObject(expected);
      await expect(objects.get('a')).rejects.toMatchObject(expected);
      await expect(keysOf(objects)).rejects.toMatchObject(expected);
      proxy.decide = () => null;
      await objects.put('a', Buffer.from('x'));
      failFirst(1, /GET/, { status: 503, code: 'SlowDown' });
      expect(await objects.get('a')).toHaveLength(1);
    });

    test('a store that cannot be reached is unavailable', async () => {
      const nowhere = s3Settings(`http://127.0.0.1:${await freePort()}`, bucket);
      const away = await openS3Objects(nowhere, logs.logger, OPTIONS);
      await expect(away.put('a', Buffer.from('x'))).rejects.toMatchObject(UNAVAILABLE);
      await expect(away.head('a')).rejects.toMatchObject(UNAVAILABLE);
      await away.close();
    });

    test('objects are deleted one by one if the store cannot delete many at once, and a refused delete fails', async () => {
      for (let n = 0; n < 20; n++) await objects.put(`tree/${n}`, Buffer.from('x'));
      proxy.decide = ({ method }) => (method === 'POST' ? { status: 501, code: 'NotImplemented' } : null);
      await objects.deletePrefix('tree/');
      expect(await keysOf(objects)).toEqual([]);
      await objects.put('tree/kept', Buffer.from('x'));
      proxy.decide = ({ method }) =>
        method === 'POST' || method === 'DELETE' ? { status: 403, code: 'AccessDenied' } : null;
      await expect(objects.deletePrefix('tree/')).rejects.toMatchObject({ code: 'objects_refused' });
    });

    test('logs and errors contain no credentials, even if the store repeats them', async () => {
      const secret = 'storm-petrel.dabberlocks';
      const one = new Secret(secret);
      const credentials = { accessKeyId: one, secretAccessKey: one, sessionToken: one };
      const own = await openS3Objects(s3Settings(proxy.endpoint, bucket, { credentials }), logs.logger, OPTIONS);
      const faults: S3Fault[] = [
        { status: 403, code: 'InvalidAccessKeyId', message: secret },
        { status: 503, code: 'SlowDown', message: secret },
        { status: 400, code: secret },
        'cut before',
      ];
      for (const fault of faults) {
        proxy.decide = () => fault;
        const error: unknown = await own.put('a', Buffer.from('x')).catch((caught) => caught);
        expect(error).toBeInstanceOf(AppError);
        logs.logger.error({ err: error }, 'as a worker logs it');
        expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(secret);
      }
      expect(JSON.stringify(logs.lines)).not.toContain(secret);
      await own.close();
    });
  });
});
