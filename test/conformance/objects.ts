import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ListedObject, Objects } from '../../src/platform/objects/objects.ts';

export interface ObjectsUnderTest {
  readonly objects: Objects;
  /** Directory for files that a test lets the store adopt. */
  readonly directory: string;
  close(): Promise<void>;
}

const KIB = 1024;

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function listAll(objects: Objects, prefix: string, signal?: AbortSignal): Promise<ListedObject[]> {
  const found: ListedObject[] = [];
  for await (const object of objects.list(prefix, signal ? { signal } : {})) found.push(object);
  return found;
}

/** Define the tests that every driver of `Objects` must pass. @param open opens an empty store */
export function testObjects(driver: string, open: () => Promise<ObjectsUnderTest>): void {
  describe(`objects on ${driver}`, () => {
    let store: ObjectsUnderTest;
    let objects: Objects;

    beforeAll(async () => {
      store = await open();
      objects = store.objects;
    });
    afterAll(async () => {
      await store?.close();
    });

    test('bytes that are put are read back, those of an empty object too', async () => {
      for (const [key, bytes] of [
        ['put/some', randomBytes(300 * KIB)],
        ['put/none', new Uint8Array(0)],
      ] as const) {
        expect(await objects.put(key, bytes)).toEqual({ sizeBytes: bytes.length, sha256: sha256(bytes) });
        const read = await objects.get(key);
        expect(read).toBeInstanceOf(Uint8Array);
        expect(sha256(read)).toBe(sha256(bytes));
        expect(await objects.head(key)).toEqual({ sizeBytes: bytes.length });
      }
    });

    test('many small objects are written and read together, and those that are missing or too large are left out', async () => {
      const sizes = [0, 1, 40 * KIB, 300 * KIB, 7];
      const pool = randomBytes(64);
      const written = sizes.map((size, nth) => ({
        key: `many/${nth % 2}/${nth}`,
        bytes: new Uint8Array(randomBytes(size)),
      }));
      const contents = written.map(({ bytes }) => sha256(bytes));
      await objects.putMany([...written, { key: 'many/view', bytes: pool.subarray(3, 40) }]);
      expect(pool).toHaveLength(64);
      const keys = [...written.map(({ key }) => key), 'many/view', 'many/none'];
      const read = await objects.getMany(keys, { maxBytes: 100 * KIB });
      const expected = contents.map((content, nth) => (nth === 3 ? null : content));
      expect(read.map((bytes) => bytes && sha256(bytes))).toEqual([...expected, sha256(pool.subarray(3, 40)), null]);
      expect(sha256(await objects.get('many/0/2'))).toBe(contents[2]);
      expect(await objects.getMany([])).toEqual([]);
      await objects.putMany([]);
      await expect(objects.getMany(['Not/A/Key'])).rejects.toMatchObject({ code: 'object_key_invalid' });
      const invalid = [{ key: '../outside', bytes: new Uint8Array(1) }];
      await expect(objects.putMany(invalid)).rejects.toMatchObject({ code: 'object_key_invalid' });
      const signal = AbortSignal.abort(new Error('too late'));
      await expect(objects.getMany(['many/0/0'], { signal })).rejects.toThrow('too late');
      const late = [{ key: 'many/late', bytes: new Uint8Array(1) }];
      await expect(objects.putMany(late, { signal })).rejects.toThrow('too late');
      expect(await objects.head('many/late')).toBeNull();
    });

    test('a stream with chunks of any size is stored whole', async () => {
      const chunks = [1, 70 * KIB, 3, 500 * KIB, 0, 17].map((size) => randomBytes(size));
      const whole = Buffer.concat(chunks);
      expect(await objects.put('stream/in', Readable.from(chunks))).toEqual({
        sizeBytes: whole.length,
        sha256: sha256(whole),
      });
      expect(sha256(await objects.get('stream/in'))).toBe(sha256(whole));
    });

    test('an iterable may fill the same memory for every block', async () => {
      const hash = createHash('sha256');
      const blocks = async function* () {
        const block = Buffer.alloc(250 * KIB);
        for (let number = 0; number < 60; number++) {
          hash.update(block.fill(number + 1));
          yield block;
          block.fill(0);
        }
      };
      const stored = await objects.put('iterable/in', blocks());
      expect(stored).toEqual({ sizeBytes: 60 * 250 * KIB, sha256: hash.digest('hex') });
      expect(sha256(await objects.get('iterable/in'))).toBe(stored.sha256);
    });

    test('an aborted signal ends an iterable after its block, and leaves no object', async () => {
      const stop = new AbortController();
      let isClosed = false;
      const blocks = async function* () {
        try {
          for (;;) {
            yield randomBytes(KIB);
            stop.abort(new Error('no longer needed'));
          }
        } finally {
          isClosed = true;
        }
      };
      await expect(objects.put('iterable/late', blocks(), { signal: stop.signal })).rejects.toThrow('no longer needed');
      expect(isClosed).toBe(true);
      expect(await objects.head('iterable/late')).toBeNull();
    });

    test('a put replaces an object, and readers see the old or the new one, never a mixture', async () => {
      const [first, second] = [Buffer.alloc(200 * KIB, 'a'), Buffer.alloc(300 * KIB, 'b')];
      await objects.put('replace/one', first);
      const reads = Array.from({ length: 20 }, async (_, i) => {
        if (i % 5 === 0) await objects.put('replace/one', i % 2 === 0 ? second : first);
        return sha256(await objects.get('replace/one'));
      });
      for (const hash of await Promise.all(reads)) expect([sha256(first), sha256(second)]).toContain(hash);
    });

    test('with ifAbsent exactly one of many writers succeeds', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, i) => objects.put('once/only', Buffer.from(`writer ${i}`), { ifAbsent: true })),
      );
      const winners = outcomes.flatMap((outcome, i) => (outcome.status === 'fulfilled' ? [i] : []));
      expect(winners).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'object_exists', status: 409 });
      }
      expect(Buffer.from(await objects.get('once/only')).toString()).toBe(`writer ${winners[0]}`);
    });

    test('a put whose body fails leaves no object, and an existing one is kept', async () => {
      const broken = () =>
        Readable.from(
          (async function* () {
            yield randomBytes(100 * KIB);
            throw new Error('upstream went away');
          })(),
        );
      await expect(objects.put('broken/new', broken())).rejects.toThrow('upstream went away');
      expect(await objects.head('broken/new')).toBeNull();
      await objects.put('broken/old', Buffer.from('old'));
      await expect(objects.put('broken/old', broken())).rejects.toThrow('upstream went away');
      expect(Buffer.from(await objects.get('broken/old')).toString()).toBe('old');
      expect(await listAll(objects, 'broken/')).toEqual([{ key: 'broken/old', sizeBytes: 3, tag: expect.any(String) }]);
    });

    test('get refuses an object that is larger than the limit of the caller', async () => {
      await objects.put('large/one', Buffer.alloc(1000));
      await expect(objects.get('large/one', { maxBytes: 999 })).rejects.toMatchObject({ code: 'object_too_large' });
      expect(await objects.get('large/one', { maxBytes: 1000 })).toHaveLength(1000);
    });

    test('a range with both ends included is streamed', async () => {
      const bytes = randomBytes(700 * KIB);
      await objects.put('range/one', bytes);
      const range = async (options: { start?: number; end?: number }) =>
        Buffer.compare(
          await buffer(objects.stream('range/one', options)),
          bytes.subarray(options.start ?? 0, (options.end ?? bytes.length) + 1),
        );
      expect(await range({})).toBe(0);
      expect(await range({ start: 5, end: 5 })).toBe(0);
      expect(await range({ start: 1, end: 600 * KIB })).toBe(0);
      expect(await range({ start: 650 * KIB })).toBe(0);
      expect(await range({ end: 99 })).toBe(0);
      expect(await range({ start: 699 * KIB, end: 2000 * KIB })).toBe(0);
      expect(await buffer(objects.stream('range/one', { start: 800 * KIB }))).toHaveLength(0);
    });

    test('a stream may be abandoned half way', async () => {
      await objects.put('range/two', Buffer.alloc(900 * KIB));
      const stream = objects.stream('range/two');
      for await (const chunk of stream) {
        expect((chunk as Uint8Array).length).toBeGreaterThan(0);
        break;
      }
      expect(stream.destroyed).toBe(true);
    });

    test('a missing object is a typed error, or null', async () => {
      const notFound = { code: 'object_not_found', status: 404 };
      await expect(objects.get('missing/one')).rejects.toMatchObject(notFound);
      await expect(buffer(objects.stream('missing/one'))).rejects.toMatchObject(notFound);
      expect(await objects.head('missing/one')).toBeNull();
      await objects.put('folder/below/object', Buffer.from('x'));
      await expect(objects.get('folder/below')).rejects.toMatchObject(notFound); // A prefix is no object.
      expect(await objects.head('folder/below')).toBeNull();
      expect(await objects.head('folder/below/object/deeper')).toBeNull();
    });

    test('an object may be deleted twice', async () => {
      await objects.put('delete/one', Buffer.from('x'));
      await objects.delete('delete/one');
      expect(await objects.head('delete/one')).toBeNull();
      await objects.delete('delete/one');
      await objects.delete('delete/never/was');
      await objects.put('delete/one', Buffer.from('again'));
      expect(await objects.head('delete/one')).toEqual({ sizeBytes: 5 });
    });

    test('objects are listed by prefix in the order of the keys, with their sizes', async () => {
      const keys = ['list/a/2', 'list/a/10', 'list/a-b', 'list/a.b', 'list/b/deep/er/x', 'list/ab/x', 'list-not/x'];
      for (const key of keys) await objects.put(key, Buffer.alloc(key.length));
      const below = (prefix: string) => keys.filter((key) => key.startsWith(prefix)).sort();
      expect(await listAll(objects, 'list/')).toEqual(
        below('list/').map((key) => ({ key, sizeBytes: key.length, tag: expect.any(String) })),
      );
      expect((await listAll(objects, 'list/a/')).map(({ key }) => key)).toEqual(below('list/a/'));
      expect(await listAll(objects, 'list/nothing/')).toEqual([]);
      const all = (await listAll(objects, '')).map(({ key }) => key);
      expect(all).toEqual(all.toSorted());
      expect(all).toEqual(expect.arrayContaining(keys));
    });

    test('exactly the objects below a prefix are deleted', async () => {
      for (const key of ['tree/a/1', 'tree/a/b/2', 'tree/ab/3', 'tree/c']) await objects.put(key, Buffer.from('x'));
      await objects.deletePrefix('tree/a/');
      expect((await listAll(objects, 'tree/')).map(({ key }) => key)).toEqual(['tree/ab/3', 'tree/c']);
      await objects.deletePrefix('tree/a/');
      await expect(objects.deletePrefix('')).rejects.toMatchObject({ code: 'object_key_invalid' });
      await expect(objects.deletePrefix('tree/a')).rejects.toMatchObject({ code: 'object_key_invalid' });
    });

    test('writers and deleters in one folder do not disturb each other', async () => {
      const rounds = Array.from({ length: 30 }, async (_, i) => {
        await objects.put(`busy/place/${i}`, Buffer.from(String(i)));
        if (i % 2 === 1) await objects.delete(`busy/place/${i}`);
      });
      await Promise.all(rounds);
      expect(await listAll(objects, 'busy/')).toHaveLength(15);
    });

    test('a finished local file is adopted', async () => {
      const bytes = randomBytes(400 * KIB);
      const file = path.join(store.directory, 'upload');
      await writeFile(file, bytes);
      expect(await objects.adopt(file, 'adopted/one')).toEqual({ sizeBytes: bytes.length, sha256: sha256(bytes) });
      expect(existsSync(file)).toBe(false);
      expect(sha256(await objects.get('adopted/one'))).toBe(sha256(bytes));
    });

    test('an abort ends an operation with its reason, and no object is half written', async () => {
      const reason = new Error('the caller went away');
      const signal = AbortSignal.abort(reason);
      await objects.put('abort/one', Buffer.from('old'));
      await expect(objects.put('abort/one', Buffer.from('new'), { signal })).rejects.toBe(reason);
      await expect(objects.get('abort/one', { signal })).rejects.toBe(reason);
      await expect(buffer(objects.stream('abort/one', { signal }))).rejects.toBeDefined();
      await expect(objects.head('abort/one', { signal })).rejects.toBe(reason);
      await expect(objects.delete('abort/one', { signal })).rejects.toBe(reason);
      await expect(objects.deletePrefix('abort/', { signal })).rejects.toBe(reason);
      await expect(listAll(objects, 'abort/', signal)).rejects.toBe(reason);

      const later = new AbortController();
      const endless = Readable.from(
        (async function* () {
          for (let n = 0; ; n++) {
            yield Buffer.alloc(64 * KIB);
            if (n === 20) later.abort(reason);
          }
        })(),
      );
      await expect(objects.put('abort/one', endless, { signal: later.signal })).rejects.toBe(reason);
      expect(Buffer.from(await objects.get('abort/one')).toString()).toBe('old');
    });

    test('a large object is stored once and read back', async () => {
      const chunk = randomBytes(256 * KIB);
      const body = () => Readable.from(Array.from({ length: 50 }, () => chunk)); // 12.5 MiB
      const stored = await objects.put('large/stream', body(), { ifAbsent: true });
      expect(stored.sizeBytes).toBe(50 * chunk.length);
      await expect(objects.put('large/stream', body(), { ifAbsent: true })).rejects.toMatchObject({
        code: 'object_exists',
      });
      const hash = createHash('sha256');
      for await (const part of objects.stream('large/stream')) hash.update(part as Uint8Array);
      expect(hash.digest('hex')).toBe(stored.sha256);
      expect(sha256(await objects.get('large/stream'))).toBe(stored.sha256);
      const bytes = new Uint8Array(await objects.get('large/stream'));
      expect((await objects.put('large/bytes', bytes)).sha256).toBe(stored.sha256);
      expect(sha256(await objects.get('large/bytes'))).toBe(stored.sha256);
    });

    test.each([
      '',
      '/',
      '/absolute',
      'trailing/',
      'double//slash',
      '..',
      'a/../b',
      './a',
      '.hidden',
      'a/.tmp',
      'UPPER',
      'with space',
      'a\\b',
      'a\0b',
      'a\nb',
      'ключ',
      '%2e%2e/a',
      'a'.repeat(201),
      'a/'.repeat(300).concat('a'),
    ])('every operation refuses the key %j', async (key) => {
      const refused = { code: 'object_key_invalid' };
      const file = path.join(store.directory, 'not-adopted');
      await writeFile(file, 'x');
      await expect(objects.put(key, Buffer.from('x'))).rejects.toMatchObject(refused);
      await expect(objects.adopt(file, key)).rejects.toMatchObject(refused);
      await expect(objects.get(key)).rejects.toMatchObject(refused);
      await expect(buffer(objects.stream(key))).rejects.toMatchObject(refused);
      await expect(objects.head(key)).rejects.toMatchObject(refused);
      await expect(objects.delete(key)).rejects.toMatchObject(refused);
      expect(existsSync(file)).toBe(true);
    });
  });
}
