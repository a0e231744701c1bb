import { checkFile, hashStream, openLineFile, readLines } from './files.ts';
import { contentKey, damaged, readManifest } from './layout.ts';
import type { LineFile, Manifest, ObjectEntry, OnProgress } from './schema.ts';
import { findMissing, hasContent, inGroups, readObjectEntries } from './stored-objects.ts';
import type { BackupTarget } from './target.ts';

const NEWLINE = 10;
/** Number of faults at which to stop looking for more. */
const FAULTS_MAX = 100;

/** Figures of a verified backup. */
export interface VerifyReport {
  readonly id: string;
  readonly location: string;
  readonly created_at: string;
  readonly service_version: string;
  readonly schema_version: number;
  readonly tables: number;
  readonly rows: number;
  readonly files: number;
  readonly bytes: number;
  readonly missing_files: number;
}

export interface VerifyOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress;
  /** Return true for contents that were verified before, so that only their presence and size are checked. */
  readonly isTrusted?: (entry: ObjectEntry) => Promise<boolean>;
  /** True to delete damaged contents, so that the next backup stores them again. */
  readonly removesDamaged?: boolean;
}

/**
 * Check every byte of a backup without restoring it: manifest, tables and their row counts, list of files, and the
 * content of each file. Also check that the files that rows reference exist.
 * @throws AppError `backup_damaged` (409) with the faults, `backup_format_unknown`, and those of `Objects`
 */
export async function verifyBackup(
  target: BackupTarget,
  id: string,
  options: VerifyOptions,
): Promise<{ manifest: Manifest; report: VerifyReport }> {
  const { signal } = options;
  const manifest = await readManifest(target, id);
  const faults: string[] = [];
  faults.push(...(await checkLineFiles(target, [...manifest.tables, manifest.references, manifest.objects], signal)));
  // Without a valid list, the files can't be checked.
  if (faults.length > 0) throw damaged(id, faults);
  faults.push(...(await checkContents(target, manifest.objects, options)));
  if (faults.length > 0) throw damaged(id, faults);
  const missing = await countMissing(target, manifest, signal);
  if (missing !== manifest.missing_objects) {
    throw damaged(id, [
      `rows refer to ${missing} files that it lacks, but the manifest expects ${manifest.missing_objects}`,
    ]);
  }
  return { manifest, report: reportOf(target, manifest) };
}

function reportOf({ name }: BackupTarget, manifest: Manifest): VerifyReport {
  const { id, created_at, service_version, schema_version, tables, objects, missing_objects } = manifest;
  return {
    id,
    location: name,
    created_at,
    service_version,
    schema_version,
    tables: tables.length,
    rows: tables.reduce((sum, { lines }) => sum + lines, 0),
    files: objects.lines,
    bytes: objects.object_bytes,
    missing_files: missing_objects,
  };
}

/** Check line files: their bytes and line counts. Return a description of each fault. */
export async function checkLineFiles(
  target: BackupTarget,
  files: readonly LineFile[],
  signal: AbortSignal,
): Promise<string[]> {
  const faults: string[] = [];
  for (const file of files) {
    signal.throwIfAborted();
    const fault = (await checkFile(target.objects, file, signal)) ?? (await checkLines(target, file, signal));
    if (fault !== null) faults.push(fault);
  }
  return faults;
}

async function checkLines({ objects }: BackupTarget, file: LineFile, signal: AbortSignal): Promise<string | null> {
  let lines = 0;
  for await (const chunk of openLineFile(objects, file, signal) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) lines++;
  }
  return lines === file.lines ? null : `${file.key} has ${lines} lines, and ${file.lines} were written`;
}

/** Check the contents of the files in a list. Return a description of each fault. */
export async function checkContents(
  target: BackupTarget,
  list: LineFile,
  { signal, onProgress, isTrusted = async () => false, removesDamaged = false }: VerifyOptions,
): Promise<string[]> {
  const faults: string[] = [];
  let done = 0;
  for await (const group of inGroups(readObjectEntries(target.objects, list, signal))) {
    signal.throwIfAborted();
    const trusted: boolean[] = [];
    for (const entry of group) trusted.push(await isTrusted(entry));
    const found = await Promise.all(
      group.map((entry, nth) =>
        checkContent(target, entry, { isTrusted: trusted[nth] === true, removesDamaged, signal }),
      ),
    );
    faults.push(...found.filter((fault) => fault !== null));
    done += group.length;
    onProgress?.({ phase: 'checking', done, total: list.lines });
    if (faults.length > FAULTS_MAX) break;
  }
  return faults;
}

async function checkContent(
  { objects }: BackupTarget,
  entry: ObjectEntry,
  { isTrusted, removesDamaged, signal }: { isTrusted: boolean; removesDamaged: boolean; signal: AbortSignal },
): Promise<string | null> {
  const key = contentKey(entry.sha256);
  if (!(await hasContent(objects, entry, signal))) {
    return `the content of ${entry.key} is missing or has another size (${key})`;
  }
  if (isTrusted) return null;
  const { sha256 } = await hashStream(objects.stream(key, { signal }));
  if (sha256 === entry.sha256) return null;
  if (removesDamaged) await objects.delete(key, { signal });
  return `the content of ${entry.key} was changed after it was written (${key})`;
}

async function countMissing({ objects }: BackupTarget, manifest: Manifest, signal: AbortSignal): Promise<number> {
  const keys = readLines(objects, manifest.references, signal);
  let missing = 0;
  for await (const _ of findMissing(keys, readObjectEntries(objects, manifest.objects, signal))) missing++;
  return missing;
}
