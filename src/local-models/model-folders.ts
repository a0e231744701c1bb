import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError, unusable } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { LocalModel } from './schema.ts';

/** Prefix of incomplete folders, which are renamed when complete. */
const INCOMING = '.incoming-';
/** Age after which an incomplete folder is assumed to belong to a dead process. */
const ABANDONED_MS = 24 * 3_600_000;

/** Return the folder that holds this host's local models. */
export function modelsFolder(dataDir: string): string {
  return path.join(dataDir, 'models');
}

/** Return the folder of a model revision. If it exists, it is complete. */
export function folderOf(dataDir: string, name: string, revision: string): string {
  return path.join(modelsFolder(dataDir), name.slice('local/'.length), revision);
}

/** Create a folder to collect a model's files, on their final file system. */
export async function makeIncoming(dataDir: string): Promise<string> {
  await mkdir(modelsFolder(dataDir), { recursive: true });
  const folder = await mkdtemp(path.join(modelsFolder(dataDir), INCOMING));
  // The service may run as a different user than the installing command.
  await chmod(folder, 0o755);
  return folder;
}

/** Move a complete folder into place. Keep an existing folder of the same revision, which has the same files. */
export async function placeFolder(incoming: string, folder: string): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  if (existsSync(folder)) await rm(incoming, { recursive: true, force: true });
  else await rename(incoming, folder);
}

/** Delete all folders of a model except one revision. */
export async function removeFolders(dataDir: string, name: string, keptRevision: string | null): Promise<void> {
  const parent = path.dirname(folderOf(dataDir, name, 'any'));
  for (const revision of await readdir(parent).catch(() => [])) {
    if (revision !== keptRevision) await rm(path.join(parent, revision), { recursive: true, force: true });
  }
  if (keptRevision === null) await rm(parent, { recursive: true, force: true });
}

export async function removeRevision(dataDir: string, name: string, revision: string): Promise<void> {
  await rm(folderOf(dataDir, name, revision), { recursive: true, force: true });
}

/** Delete incomplete folders left by dead processes. */
export async function sweepIncoming(dataDir: string): Promise<void> {
  const parent = modelsFolder(dataDir);
  for (const name of await readdir(parent).catch(() => [])) {
    if (!name.startsWith(INCOMING)) continue;
    const folder = path.join(parent, name);
    const info = await stat(folder).catch(() => null);
    if (info && Date.now() - info.mtimeMs > ABANDONED_MS) await rm(folder, { recursive: true, force: true });
  }
}

function prefixOf({ spec, revision }: Pick<LocalModel, 'spec' | 'revision'>): string {
  return `local-models/${spec.name.slice('local/'.length)}/${revision}/`;
}

/** Upload a model's files to the storage shared by all hosts. */
export async function shareFiles(
  objects: Objects,
  folder: string,
  model: Pick<LocalModel, 'spec' | 'revision'>,
  signal: AbortSignal,
): Promise<void> {
  for (const { path: file, sha256 } of model.spec.files) {
    await objects.put(prefixOf(model) + sha256, createReadStream(path.join(folder, file)), { signal });
  }
}

export async function deleteSharedFiles(
  objects: Objects,
  model: Pick<LocalModel, 'spec' | 'revision'>,
  signal: AbortSignal,
): Promise<void> {
  await objects.deletePrefix(prefixOf(model), { signal });
}

/**
 * Fetch a model's files to this host unless they exist.
 * @param objects storage shared by all hosts; null for a single-host installation
 * @throws AppError `model_files_missing` (503), `model_file_corrupt` (500), and errors of the storage
 */
export async function ensureFiles(
  dataDir: string,
  objects: Objects | null,
  model: LocalModel,
  signal: AbortSignal,
): Promise<string> {
  const { spec, revision } = model;
  const folder = folderOf(dataDir, spec.name, revision);
  if (existsSync(folder)) return folder;
  if (objects === null) {
    throw unusable(
      `the files of ${spec.name} are not in ${folder}; install it again, or remove it (service models remove ${spec.name})`,
      'model_files_missing',
    );
  }
  const incoming = await makeIncoming(dataDir);
  try {
    for (const { path: file, sha256 } of spec.files) {
      const target = path.join(incoming, file);
      await mkdir(path.dirname(target), { recursive: true });
      const hash = createHash('sha256');
      const source = objects.stream(prefixOf(model) + sha256, { signal });
      source.on('data', (chunk: Buffer) => hash.update(chunk));
      await pipeline(source, createWriteStream(target), { signal });
      if (hash.digest('hex') !== sha256) throw corrupt(spec.name, file);
    }
    await placeFolder(incoming, folder);
  } catch (error) {
    await rm(incoming, { recursive: true, force: true });
    throw error;
  }
  return folder;
}

function corrupt(name: string, file: string): AppError {
  return new AppError({
    code: 'model_file_corrupt',
    status: 500,
    message: `the stored file ${file} of ${name} was changed; install the model again`,
  });
}
