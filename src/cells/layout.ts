import type { z } from 'zod';
import type { BackupTarget } from '../backup/target.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { type ExportKey, isSigned, sign } from './export-key.ts';
import { Begun, FORMAT, Manifest, Release } from './schema.ts';

// Layout of an export, in a folder of its own or under a prefix:
//   begun.json                     organization that the place is reserved for, and the id of the move
//   tables/<table>.copy.gz, sealed.gz, objects.gz
//   contents/<ab>/<sha256>         file contents
//   manifest.json, .signature      manifest; its signature is written last
//   last/<table>.copy.gz, last/sealed.gz
//   release.json, .signature       last part, written when the source stops serving

export const BEGUN_KEY = 'begun.json';
export const OBJECTS_KEY = 'objects.gz';
const MANIFEST_KEY = 'manifest.json';
const RELEASE_KEY = 'release.json';
const BYTES_MAX = 16 * 1024 * 1024;

export const tableKey = (table: string) => `tables/${table}.copy.gz`;
export const lastTableKey = (table: string) => `last/${table}.copy.gz`;
export const SEALED_KEY = 'sealed.gz';
export const LAST_SEALED_KEY = 'last/sealed.gz';
const signatureOf = (key: string) => `${key}.signature`;

/** Read an object. Return null if it doesn't exist. */
async function readOptional({ objects }: BackupTarget, key: string): Promise<Buffer | null> {
  try {
    return Buffer.from(await objects.get(key, { maxBytes: BYTES_MAX }));
  } catch (error) {
    if (error instanceof AppError && error.code === 'object_not_found') return null;
    throw error;
  }
}

/** Read which organization a place is reserved for; null if it has no export. @throws AppError `export_damaged` */
export async function readBegun(place: BackupTarget): Promise<Begun | null> {
  const bytes = await readOptional(place, BEGUN_KEY);
  return bytes && parse(Begun, bytes, place, BEGUN_KEY);
}

/** Begin an export in a place, and delete the manifest of an earlier export of the same organization. */
export async function writeBegun({ objects }: BackupTarget, begun: Begun): Promise<void> {
  for (const key of [MANIFEST_KEY, RELEASE_KEY]) {
    await objects.delete(signatureOf(key));
    await objects.delete(key);
  }
  await objects.put(BEGUN_KEY, Buffer.from(`${JSON.stringify(begun)}\n`));
}

/** Write a signed part. Write the signature last, so that a part without it counts as unfinished. */
async function writeSigned({ objects }: BackupTarget, name: string, key: ExportKey, part: unknown): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(part, null, 2)}\n`);
  await objects.put(name, bytes);
  await objects.put(signatureOf(name), Buffer.from(`${sign(key, bytes)}\n`));
}

export function writeManifest(place: BackupTarget, key: ExportKey, manifest: Manifest): Promise<void> {
  return writeSigned(place, MANIFEST_KEY, key, manifest);
}

export function writeRelease(place: BackupTarget, key: ExportKey, release: Release): Promise<void> {
  return writeSigned(place, RELEASE_KEY, key, release);
}

/** Read a signed part. Return null if unfinished. @throws AppError `export_forged`, `export_damaged` (409) */
async function readSigned(place: BackupTarget, name: string, key: ExportKey): Promise<Buffer | null> {
  const signature = await readOptional(place, signatureOf(name));
  if (signature === null) return null;
  const bytes = await readOptional(place, name);
  if (bytes === null) throw damaged(place, [`${name} is missing`]);
  if (isSigned(key, bytes, signature.toString('latin1'))) return bytes;
  throw conflict(
    `the signature of ${name} in ${place.name} is wrong: the export was changed, or made with another key; copy the export again, and give both commands the same key file`,
    'export_forged',
  );
}

/** Read the manifest of an export. Return null if unfinished. @throws AppError as `readManifest` */
export async function findManifest(place: BackupTarget, key: ExportKey): Promise<Manifest | null> {
  const bytes = await readSigned(place, MANIFEST_KEY, key);
  return bytes && parse(Manifest, bytes, place, MANIFEST_KEY);
}

/**
 * Read the manifest of a finished export.
 * @throws AppError `export_not_found` (404), `export_unfinished`, `export_forged`, `export_damaged`,
 *   `export_format_unknown` (409)
 */
export async function readManifest(place: BackupTarget, key: ExportKey): Promise<Manifest> {
  const manifest = await findManifest(place, key);
  if (manifest !== null) return manifest;
  if ((await readBegun(place)) === null) {
    throw new AppError({
      code: 'export_not_found',
      status: 404,
      message: `there is no export of an organization in ${place.name}; make one with "service orgs export", or name its place`,
    });
  }
  throw conflict(
    `the export in ${place.name} is not finished, or was not copied completely; run "service orgs export" again, which continues it`,
    'export_unfinished',
  );
}

/**
 * Read the last part of an export. Return null if the source still serves the organization.
 * @throws AppError as `readManifest`
 */
export async function findRelease(place: BackupTarget, key: ExportKey, manifest: Manifest): Promise<Release | null> {
  const bytes = await readSigned(place, RELEASE_KEY, key);
  if (bytes === null) return null;
  const release = parse(Release, bytes, place, RELEASE_KEY);
  if (release.move_id === manifest.move_id) return release;
  throw damaged(place, [`${RELEASE_KEY} belongs to another export`]);
}

function parse<S extends z.ZodType>(schema: S, bytes: Buffer, place: BackupTarget, name: string): z.output<S> {
  let tree: unknown = null;
  try {
    tree = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw damaged(place, [`${name} is not JSON`]);
  }
  const format = (tree as { format?: unknown } | null)?.format ?? FORMAT;
  if (format !== FORMAT) {
    throw conflict(
      `the export in ${place.name} has format ${format}, and this release reads format ${FORMAT}; bring both installations to the same release, and export again`,
      'export_format_unknown',
    );
  }
  const parsed = schema.safeParse(tree);
  if (parsed.success) return parsed.data;
  throw damaged(place, [`${name} does not have the format of an export`]);
}

const FAULTS_SHOWN_MAX = 20;

/** Create the error for a damaged export. @param faults one sentence each, without a full stop */
export function damaged({ name }: Pick<BackupTarget, 'name'>, faults: readonly string[]): AppError {
  const more = faults.length > FAULTS_SHOWN_MAX ? [`and ${faults.length - FAULTS_SHOWN_MAX} more`] : [];
  const lines = [...faults.slice(0, FAULTS_SHOWN_MAX), ...more].map((fault) => `\n  - ${fault}`);
  return new AppError({
    code: 'export_damaged',
    status: 409,
    message: `the export in ${name} is damaged and is not used; copy it again, or export again:${lines.join('')}`,
    details: { faults: faults.slice(0, FAULTS_SHOWN_MAX) },
  });
}
