import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import { YOUNG_FILE_MS } from './file-schema.ts';
import type { FileContext } from './files.ts';
import { sweepExpiredFiles, sweepOrphanedFiles } from './sweep-files.ts';

const ORPHANS_EVERY_MS = 6 * 3_600_000;

/** Files in the shape of OpenAI's API, and the removal of old files. */
export interface Files extends FileContext {
  readonly chores: (everyMs: number) => readonly Chore[];
}

export function openFiles({
  config,
  sql,
  objects,
  logger,
}: Omit<FileContext, 'plans'> & { readonly config: Pick<Config, 'plans'> }): Files {
  const files: FileContext = { sql, objects, logger, plans: config.plans };
  return {
    ...files,
    chores: (everyMs) => [
      { name: 'removal of expired files', everyMs, run: (signal) => sweepExpiredFiles(files, signal) },
      {
        name: 'removal of orphaned uploaded files',
        everyMs: ORPHANS_EVERY_MS,
        run: async (signal) => void (await sweepOrphanedFiles(files, YOUNG_FILE_MS, signal)),
      },
    ],
  };
}
