import { AppError, unusable } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Objects } from './objects.ts';

/** Key prefix of objects written and deleted only to test the storage. */
export const PROBES_PREFIX = 'probes/';

const WRITERS = 8;

export interface ObjectLatencies {
  readonly writeMs: number;
  readonly readMs: number;
  readonly deleteMs: number;
}

/** Write, read and delete an object, as every upload does. @throws AppError of `Objects`; `objects_damaged` (503) */
export async function probeObjects(objects: Objects, signal?: AbortSignal): Promise<ObjectLatencies> {
  const key = `${PROBES_PREFIX}${newId('probe')}`;
  const options = signal ? { signal } : {};
  const startMs = performance.now();
  await objects.put(key, Buffer.from(key), options);
  const writtenMs = performance.now();
  const bytes = await objects.get(key, options);
  const readMs = performance.now();
  await objects.delete(key, options);
  const deletedMs = performance.now();
  if (Buffer.from(bytes).toString() !== key) {
    throw unusable('the file storage returns different bytes from those that it stored', 'objects_damaged');
  }
  return { writeMs: writtenMs - startMs, readMs: readMs - writtenMs, deleteMs: deletedMs - readMs };
}

/**
 * Check that the storage honours `ifAbsent` (on S3: `PUT` with `If-None-Match: *` answers 412 if the object exists).
 * The second of two consecutive writes must fail, and so must all but one of several concurrent writes. A store that
 * ignores the condition accepts every write, and the search index would silently lose rows.
 * @throws AppError `conditional_writes_ignored` (500), and the errors of `Objects`
 */
export async function requireConditionalWrites(objects: Objects): Promise<void> {
  const folder = `${PROBES_PREFIX}${newId('probe')}`;
  try {
    const first = await writeConcurrently(objects, `${folder}/consecutive`, 1);
    const second = await writeConcurrently(objects, `${folder}/consecutive`, 1);
    if (first.won.length !== 1 || second.won.length !== 0) throw ignored('the second of two writes succeeded');
    const { won, stored } = await writeConcurrently(objects, `${folder}/concurrent`, WRITERS);
    if (won.length !== 1) throw ignored(`${won.length} of ${WRITERS} concurrent writes succeeded`);
    if (stored !== won[0]) throw ignored('the stored object is not that of the successful write');
  } finally {
    await objects.deletePrefix(`${folder}/`).catch(() => undefined);
  }
}

/** Write one key by several concurrent writers, each of which writes its number. */
async function writeConcurrently(
  objects: Objects,
  key: string,
  writers: number,
): Promise<{ won: string[]; stored: string }> {
  const names = Array.from({ length: writers }, (_, writer) => String(writer));
  const outcomes = await Promise.allSettled(
    names.map((name) => objects.put(key, Buffer.from(name), { ifAbsent: true })),
  );
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    if (!(outcome.reason instanceof AppError) || outcome.reason.code !== 'object_exists') throw outcome.reason;
  }
  const won = names.filter((_, writer) => outcomes[writer]?.status === 'fulfilled');
  return { won, stored: Buffer.from(await objects.get(key)).toString() };
}

function ignored(what: string): AppError {
  return new AppError({
    code: 'conditional_writes_ignored',
    status: 500,
    message:
      `the object storage ignores conditional writes (PUT with If-None-Match: *): ${what}. Writers of the search index ` +
      'would overwrite each other without an error. Use a store that honours them, such as AWS S3, MinIO or ' +
      'Cloudflare R2, or keep the index on this host with `index: {storage: disk}` in service.yaml, which supports ' +
      'only one host.',
  });
}
