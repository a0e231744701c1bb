import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Document, isMap, parseDocument } from 'yaml';
import { loadConfig } from '../platform/config.ts';
import { configFileOf } from '../platform/environment.ts';
import { AppError, conflict } from '../platform/errors.ts';

/** Location of `service.yaml`: the environment that may name it, and the data directory. */
export interface SettingsPlace {
  readonly env: NodeJS.ProcessEnv;
  readonly dataDir: string;
}

/** Read `service.yaml` with its comments; an empty map if there is none. @throws AppError `config_invalid` */
export async function readSettings({ env, dataDir }: SettingsPlace): Promise<Document> {
  const file = configFileOf(env, dataDir);
  const document = parseDocument(existsSync(file) ? await readFile(file, 'utf8') : '');
  if (document.errors.length > 0) loadConfig({ env, overrides: { data_dir: dataDir } });
  if (!isMap(document.contents)) document.contents = document.createNode({}) as never;
  return document;
}

/** Replace `service.yaml` with an edited document whose settings are valid. @throws AppError `config_invalid` */
export async function editSettings({ env, dataDir }: SettingsPlace, document: Document): Promise<void> {
  await replaceFile(configFileOf(env, dataDir), document.toString(), (draft) =>
    loadConfig({ env: { ...env, SERVICE_CONFIG: draft }, overrides: { data_dir: dataDir } }),
  );
}

/**
 * Replace a file's text, if `check` accepts it. Make a new file readable only by its owner, since it may hold keys
 * later.
 */
async function replaceFile(file: string, text: string, check: (draft: string) => unknown): Promise<void> {
  const draft = `${file}.${process.pid}.part`;
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await chmod(draft, 0o600);
    check(draft);
    await rename(draft, file);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw conflict(`cannot write ${file} (${(error as NodeJS.ErrnoException).code})`, 'cannot_write');
  } finally {
    await rm(draft, { force: true });
  }
}
