import { createReadStream, createWriteStream, type Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { notAModel } from './install-errors.ts';
import { licenceOfFolder } from './model-card.ts';
import type { ModelSource, SourceFile } from './source.ts';

/** Maximum number of files to examine. Model folders have fewer than fifty. */
const FILES_MAX = 10_000;
const DEPTH_MAX = 2;

/**
 * Open a folder of this host. Follow links, since hub caches consist of them.
 * @throws AppError `model_invalid` (400) if it isn't a folder
 */
export async function openFolder(folder: string, label = folder): Promise<ModelSource> {
  const info = await stat(folder).catch(() => null);
  if (!info?.isDirectory()) throw notAModel(`${folder} is no folder; name the folder, archive or hub id of a model`);
  return {
    label,
    licence: await licenceOfFolder(folder),
    revision: null,
    resumeKey: null,
    list: (signal) => listFiles(folder, signal),
    async fetch(file, target, onBytes, signal) {
      const source = createReadStream(path.join(folder, file.path));
      source.on('data', (chunk) => onBytes(chunk.length));
      await pipeline(source, createWriteStream(target), { signal });
    },
    async close() {},
  };
}

async function listFiles(folder: string, signal: AbortSignal): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  const walk = async (parent: string, depth: number): Promise<void> => {
    for (const name of await readdir(path.join(folder, parent))) {
      signal.throwIfAborted();
      const own = path.posix.join(parent, name);
      const info: Stats | null = await stat(path.join(folder, own)).catch(() => null);
      if (info?.isFile()) files.push({ path: own, sizeBytes: info.size });
      else if (info?.isDirectory() && depth < DEPTH_MAX) await walk(own, depth + 1);
      if (files.length > FILES_MAX) throw notAModel(`${folder} holds too many files to be the folder of a model`);
    }
  };
  await walk('', 1);
  return files;
}
