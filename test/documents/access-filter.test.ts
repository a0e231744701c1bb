import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** File of the only condition on the documents that a caller may see. */
const FILTER = 'src/documents/visibility.ts';

/**
 * Files that query documents without the condition, since they work for the service itself or on documents that were read
 * through the condition before. Every other file must use it.
 */
const FOR_THE_SERVICE = [
  'src/workflows/trigger-store.ts',
  'src/access/groups/group-store.ts',
  'src/backup/restore-store.ts',
  'src/cells/export-store.ts',
  'src/cells/import-store.ts',
  'src/backup/snapshot-store.ts',
  'src/demo/demo-store.ts',
  'src/documents/deletion-store.ts',
  'src/documents/growth-store.ts',
  'src/files/files-store.ts',
  'src/ingest/source-store.ts',
  'src/ingest/calibration/store.ts',
  'src/ingest/finish-store.ts',
  'src/ingest/generation-store.ts',
  'src/ingest/job-store.ts',
  'src/ingest/reindex/store.ts',
  'src/ingest/reindex/terms-store.ts',
  'src/ingest/retry-store.ts',
  'src/ingest/store.ts',
  'src/ingest/upload-store.ts',
  'src/jobs/operation-store.ts',
  'src/memory/entry-store.ts',
  'src/index/writing/deleted-text-store.ts',
  'src/search/documents/copy-store.ts',
  'src/index/index-store.ts',
];
/** Files that have facts of documents in memory, and that which shows none without the rule of the condition. */
const IN_MEMORY = { reading: 'src/search/documents/copy-store.ts', deciding: 'src/search/documents/document-copy.ts' };

const sources = ['src', 'server', 'commands']
  .flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name))),
  )
  .map((file) => ({ file, text: readFileSync(path.join(ROOT, file), 'utf8') }));

const having = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

it('levels and departments of callers and documents are compared in one query only', () => {
  expect(having(/privacy_level\s*<=/)).toEqual([FILTER]);
  expect(having(/scope\s*=\s*(?:\$\{caller|ANY)/)).toEqual([FILTER]);
  expect(having(/scope IS NULL/)).toEqual([FILTER]);
  expect(having(/access_list &&/)).toEqual([FILTER]);
});

it('every read of documents uses the access condition', () => {
  const querying = having(/\b(sql|tx)(?:<[^`]*>)?`[^`]*\b(FROM|JOIN|UPDATE) documents\b/);
  const using = new Set(having(/\b(jobVisibleTo|visibleTo|readableBy)\(/));
  expect(querying).toContain(FILTER);
  expect(querying.filter((file) => !using.has(file) && !FOR_THE_SERVICE.includes(file))).toEqual([]);
  expect(FOR_THE_SERVICE.filter((file) => !querying.includes(file))).toEqual([]);
});

it('facts of documents in memory are read by the rule of the access condition', () => {
  expect(having(/\breadTestOf\(/).toSorted()).toEqual([FILTER, IN_MEMORY.deciding]);
  expect(having(/\bSearchedDocument\b/).toSorted()).toEqual([IN_MEMORY.reading, IN_MEMORY.deciding]);
});
