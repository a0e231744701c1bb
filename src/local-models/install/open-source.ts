import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { LEXICAL_ID, SEMANTIC_ID } from '../../models/catalog.ts';
import type { Config } from '../../platform/config.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { LocalName } from '../schema.ts';
import { openFolder } from './folder-source.ts';
import type { ModelSource } from './source.ts';

/** Id on a hub: organization and name. */
const HUB_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}\/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/;
const RESERVED: readonly string[] = [LEXICAL_ID, SEMANTIC_ID];

/**
 * Open the source of a model: a folder, a tar archive, or a hub id.
 *
 * @param context.temporary folder for unpacked files
 * @throws AppError `invalid_request` (400) if the source doesn't exist, and errors of each source
 */
export async function openSource(
  source: string,
  context: { settings: Config['localModels']; revision: string | undefined; dataDir: string; signal: AbortSignal },
): Promise<ModelSource> {
  const info = await stat(source).catch(() => null);
  if (info?.isDirectory()) return openFolder(source);
  if (info?.isFile()) {
    const { openArchive } = await import('./archive-source.ts');
    return openArchive(source, context);
  }
  if (HUB_ID.test(source)) {
    const { openHub } = await import('./hub-source.ts');
    return openHub(source, context);
  }
  throw invalidRequest(`${source} is not a folder, a tar archive or a hub id (organization/name)`, 'source');
}

/** Names of model folders that the console offers. */
const FOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/;
const FOLDERS_MAX = 1_000;

/** List the model folders that operators may install from the console. */
export async function listFolders({ folder }: Config['localModels']): Promise<string[]> {
  if (folder === null) return [];
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => FOLDER_NAME.test(name))
    .toSorted()
    .slice(0, FOLDERS_MAX);
}

/**
 * Open a source for a request: an id on the configured hub, or a folder in `local_models.folder`. Unlike commands,
 * requests can't name other paths on this host.
 *
 * @throws AppError `invalid_request` (400), and errors of each source
 */
export async function openAllowedSource(
  source: string,
  context: { settings: Config['localModels']; revision: string | undefined; signal: AbortSignal },
): Promise<ModelSource> {
  if (HUB_ID.test(source)) {
    const { openHub } = await import('./hub-source.ts');
    return openHub(source, context);
  }
  const { folder } = context.settings;
  if (folder !== null && (await listFolders(context.settings)).includes(source)) {
    return openFolder(path.join(folder, source), source);
  }
  const others = folder === null ? '; for folders, set local_models.folder' : ` or a folder in ${folder}`;
  throw invalidRequest(`${source} is not a hub id (organization/name)${others}`, 'source');
}

/**
 * Choose a model's name: the requested one, else the last part of its source.
 *
 * @throws AppError `invalid_request` (400)
 */
export function chooseName(source: string, asked: string | undefined): string {
  const last = source.replace(/\/+$/, '').split('/').at(-1) ?? '';
  const derived = last
    .replace(/\.(tar|tgz|tar\.gz)$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 64);
  const name = asked ?? `local/${derived}`;
  const parsed = LocalName.safeParse(name);
  if (!parsed.success) throw invalidRequest(`--as: ${name} ${parsed.error.issues[0]?.message}`, 'as');
  if (RESERVED.includes(name)) throw invalidRequest(`--as: ${name} is built in; choose another name`, 'as');
  return name;
}
