import { recordAudit } from '../access/audit.ts';
import { pepperContextOf, sealPepper } from '../access/key-pepper.ts';
import { type HashedFile, openLineFile, readLines } from '../backup/files.ts';
import { restoreObject } from '../backup/restore-backup.ts';
import { selectBucketsToIndex } from '../backup/restore-store.ts';
import { prepareCopy } from '../backup/snapshot-store.ts';
import { inGroups, readObjectEntries } from '../backup/stored-objects.ts';
import type { BackupTarget } from '../backup/target.ts';
import { checkContents, checkLineFiles } from '../backup/verify-backup.ts';
import { type ReindexContext, rebuildIndex } from '../ingest/reindex/reindex-bucket.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { inTransaction, isUniqueViolation, type Sql } from '../platform/postgres.ts';
import { seal, unseal } from '../platform/seal.ts';
import { findIncomplete } from './check-index.ts';
import { checkTarget, type TargetParts } from './check-target.ts';
import { prefixesOf } from './export-organization.ts';
import * as store from './import-store.ts';
import { damaged, readManifest } from './layout.ts';
import { type MoveContext, type MoveOptions, readMoving, withMoveLock } from './move-context.ts';
import { type Manifest, SealedValue, type TableFile } from './schema.ts';
import { MOVED, type MovedTable } from './tables.ts';

export interface ImportContext extends MoveContext {
  readonly target: TargetParts;
  readonly reindex: ReindexContext;
}

export interface ImportOptions extends MoveOptions {
  /** Name of the organization on this installation; null to keep its own. */
  readonly name: string | null;
}

export interface ImportReport {
  readonly move_id: string;
  readonly organization: { readonly id: string; readonly name: string };
  readonly place: string;
  readonly rows: number;
  readonly files: number;
  readonly bytes: number;
  readonly documents: number;
  readonly chunks: number;
  /** Number of files that the source lacked. */
  readonly missing_files: number;
  /** Documents whose stored chunks are damaged or missing. Searches don't find them until they are reprocessed. */
  readonly left_out: readonly string[];
  /** Public ids of the valid API keys, for the proxy. */
  readonly key_ids: readonly string[];
  readonly people_with_passwords: number;
}

/**
 * Verify every byte of an export, and that this installation can import it. Write nothing.
 * @throws AppError the errors of `readManifest` and `checkTarget`, `export_damaged` (409); the reason of the signal
 */
export async function checkImport(context: ImportContext, options: ImportOptions): Promise<ImportReport> {
  const manifest = await readManifest(options.place, options.key);
  await check(context, options, manifest);
  return reportOf(options.place, manifest, options.name, []);
}

async function check({ target }: ImportContext, options: ImportOptions, manifest: Manifest): Promise<void> {
  const { place, name, signal } = options;
  await checkTarget(target, manifest, name ?? manifest.organization.name);
  const faults = await checkLineFiles(place, [...manifest.tables, manifest.sealed, manifest.objects], signal);
  // The files can't be checked without their list.
  if (faults.length > 0) throw damaged(place, faults);
  faults.push(...(await checkContents(place, manifest.objects, options)));
  if (faults.length > 0) throw damaged(place, faults);
}

/**
 * Import an organization: verify everything, write its rows in one transaction, then its files, and build its index
 * from the stored vectors, without a model. It isn't served before its activation. A repeated call continues.
 * @throws AppError the errors of `checkImport`, `file_changed`, `move_running`, `import_incomplete` (409), those of
 *   `Objects` and `rebuildIndex`; the reason of the signal
 */
export async function importOrganization(context: ImportContext, options: ImportOptions): Promise<ImportReport> {
  const { place, key, signal } = options;
  // The place may change. Everything that is used is compared with this one signed manifest.
  const manifest = await readManifest(place, key);
  const { organization, move_id: moveId } = manifest;
  return withMoveLock(context, organization.id, signal, async (guarded) => {
    const own = { ...options, signal: guarded };
    const before = await store.findImport(context.sql, { moveId });
    if (before?.isVerified !== true) await check(context, own, manifest);
    await new ImportRun(context, own, manifest).run();
    const done = await store.findImport(context.sql, { moveId });
    // An earlier call may have chosen another name.
    const { name } = await readMoving(context.sql, organization.id);
    return reportOf(place, manifest, name, done?.leftOut ?? []);
  });
}

function reportOf(
  { name: place }: BackupTarget,
  manifest: Manifest,
  name: string | null,
  leftOut: readonly string[],
): ImportReport {
  const { organization, objects } = manifest;
  return {
    move_id: manifest.move_id,
    organization: { id: organization.id, name: name ?? organization.name },
    place,
    rows: manifest.tables.reduce((sum, { lines }) => sum + lines, 0),
    files: objects.lines,
    bytes: objects.object_bytes,
    documents: manifest.documents,
    chunks: manifest.chunks,
    missing_files: manifest.missing_objects,
    left_out: leftOut,
    key_ids: manifest.key_ids,
    people_with_passwords: manifest.people_with_passwords,
  };
}

class ImportRun {
  readonly #context: ImportContext;
  readonly #options: ImportOptions;
  readonly #manifest: Manifest;

  constructor(context: ImportContext, options: ImportOptions, manifest: Manifest) {
    this.#context = context;
    this.#options = options;
    this.#manifest = manifest;
  }

  async run(): Promise<void> {
    const { sql } = this.#context;
    const { move_id: moveId } = this.#manifest;
    const record = (await store.findImport(sql, { moveId })) ?? (await this.#start());
    if (!record.hasRows) await this.#writeRows(record);
    if (!record.hasObjects) await this.#writeObjects(record);
    if (record.isVerified) return;
    await this.#buildIndexes(record);
    await this.#verify();
    await store.markStep(sql, moveId, 'verified_at');
  }

  /** Reserve generation ids and record the import. */
  async #start(): Promise<store.ImportRecord> {
    const { move_id: moveId, organization, generations } = this.#manifest;
    return inTransaction(this.#context.sql, async (tx) => {
      const before = await store.reserveGenerations(tx, generations.last - generations.first + 1);
      const generationOffset = before + 1 - generations.first;
      await store.insertImport(tx, { moveId, orgId: organization.id, generationOffset });
      return (await store.findImport(tx, { moveId })) as store.ImportRecord;
    });
  }

  async #writeRows({ generationOffset }: store.ImportRecord): Promise<void> {
    const { sql, direct, keyRing } = this.#context;
    const { actor, name, onProgress } = this.#options;
    const { move_id: moveId, organization, tables, needs } = this.#manifest;
    const orgId = organization.id;
    const mapVersions = await store.selectMapVersions(sql, needs.maps);
    const arrival = { orgId, moveId, name: name ?? organization.name, generationOffset, mapVersions };
    try {
      await inTransaction(direct, async (tx) => {
        await prepareCopy(tx);
        await this.#stage(tx);
        const { encryption } = this.#options.key;
        const pepper = unseal(encryption, Buffer.from(this.#manifest.sealed_pepper, 'base64'), pepperContextOf(orgId));
        await store.fillPepper(tx, sealPepper(keyRing.encryption, Buffer.from(pepper, 'base64url'), orgId));
        await insertTables(tx, MOVED, tables, arrival, this.#options.place);
        await store.markStep(tx, moveId, 'rows_at');
        await recordAudit(tx, { orgId, actor, action: 'organization.import', target: moveId });
      });
    } catch (error) {
      if (isUniqueViolation(error)) throw taken(error);
      throw error;
    }
    onProgress?.({ phase: 'rows', done: tables.length, total: tables.length });
  }

  async #stage(tx: Sql): Promise<void> {
    const { tables, sealed } = this.#manifest;
    await stageTables(tx, tables, this.#options, (step) =>
      this.#options.onProgress?.({ phase: 'rows', done: step, total: tables.length + 1 }),
    );
    await stageSealed(tx, MOVED, sealed, { ...this.#options, keyRing: this.#context.keyRing });
  }

  async #writeObjects({ generationOffset }: store.ImportRecord): Promise<void> {
    const { objects, sql } = this.#context;
    const { place, signal, onProgress } = this.#options;
    const { objects: list, move_id: moveId } = this.#manifest;
    let done = 0;
    // If the list turns out to be changed at its end, the step isn't done, and the next call writes the files anew.
    for await (const group of inGroups(readObjectEntries(place.objects, list, signal))) {
      signal.throwIfAborted();
      await Promise.all(
        group.map((entry) =>
          restoreObject(objects, place, entry, {
            key: this.#arrivingKey(entry.key, generationOffset),
            signal,
            damaged: (fault) => damaged(place, [fault]),
          }),
        ),
      );
      done += group.length;
      onProgress?.({ phase: 'files', done, total: list.lines });
    }
    await store.markStep(sql, moveId, 'objects_at');
  }

  /** Return the local key of a file, with renumbered generations. @throws AppError `export_damaged` (409) */
  #arrivingKey(key: string, generationOffset: number): string {
    const isOwn = prefixesOf(this.#manifest.organization.id).some((prefix) => key.startsWith(prefix));
    if (!isOwn) throw damaged(this.#options.place, [`${key} is not a file of the organization`]);
    return key.replace(/\/chunks-(\d+)$/, (_, id) => `/chunks-${Number(id) + generationOffset}`);
  }

  async #buildIndexes({ rebuilt }: store.ImportRecord): Promise<void> {
    const { sql, reindex } = this.#context;
    const { actor, signal, onProgress } = this.#options;
    const { move_id: moveId, organization, chunks: total } = this.#manifest;
    let before = 0;
    const buckets = await selectBucketsToIndex(sql);
    for (const { id: bucketId, orgId, chunks } of buckets.filter((bucket) => bucket.orgId === organization.id)) {
      signal.throwIfAborted();
      if (!rebuilt.includes(bucketId)) {
        const built = await rebuildIndex(reindex, { orgId, actor }, bucketId, {
          signal,
          leaveOutDamaged: true,
          onProgress: (done) => onProgress?.({ phase: 'index', done: before + done, total }),
        });
        await store.markBucketBuilt(sql, moveId, { bucketId, leftOut: built.left_out });
      }
      before += chunks;
    }
  }

  /** Compare the imported data with the manifest and the index. */
  async #verify(): Promise<void> {
    const { sql, reindex } = this.#context;
    const { organization, move_id: moveId, documents, chunks } = this.#manifest;
    const record = (await store.findImport(sql, { moveId })) as store.ImportRecord;
    const live = await store.countLive(sql, organization.id);
    const faults: string[] = [];
    if (live.documents !== documents || live.chunks !== chunks) {
      faults.push(`${live.documents} documents and ${live.chunks} chunks arrived, of ${documents} and ${chunks}`);
    }
    const incomplete = await findIncomplete({ sql, chunks: reindex.chunks }, organization.id, record);
    for (const bucketId of incomplete) {
      await store.forgetBuilt(sql, moveId, bucketId);
      faults.push(`the index of the bucket ${bucketId} is not complete`);
    }
    if (faults.length === 0) return;
    const lines = faults.map((fault) => `\n  - ${fault}`);
    throw conflict(
      `the organization has not arrived as it was exported; run the import again, which builds incomplete indexes anew, or discard it with "service orgs delete ${organization.name}":${lines.join('')}`,
      'import_incomplete',
    );
  }
}

/** Load the exported row files into temporary tables. @throws AppError as `openLineFile` */
export async function stageTables(
  tx: Sql,
  tables: readonly TableFile[],
  { place, signal }: Pick<MoveOptions, 'place' | 'signal'>,
  onTable: (done: number) => void = () => {},
): Promise<void> {
  for (const [nth, file] of tables.entries()) {
    signal.throwIfAborted();
    await store.stageRows(tx, file, openLineFile(place.objects, file, signal));
    onTable(nth + 1);
  }
}

/** Fill in the encrypted values of staged rows, re-encrypted with the key of this installation. */
export async function stageSealed(
  tx: Sql,
  tables: readonly MovedTable[],
  file: HashedFile,
  { place, key, keyRing, signal }: Pick<MoveOptions, 'place' | 'key' | 'signal'> & Pick<MoveContext, 'keyRing'>,
): Promise<void> {
  for await (const line of readLines(place.objects, file, signal)) {
    const value = SealedValue.parse(JSON.parse(line));
    const about = tables.find(({ name }) => name === value.table)?.sealed;
    if (about?.columns.includes(value.column) !== true) throw damaged(place, [`${file.key} names ${value.table}`]);
    const identity = about.contextOf(
      Object.fromEntries(Object.entries(value.row).map(([n, text]) => [n, bytesOf(text)])),
    );
    const text = unseal(key.encryption, Buffer.from(value.sealed, 'base64'), identity);
    if (await store.fillSealed(tx, value, seal(keyRing.encryption, text, identity))) continue;
    throw damaged(place, [`${file.key} has a value of ${value.table} without its row`]);
  }
}

function bytesOf(text: string): string | Buffer {
  return text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex') : text;
}

/**
 * Insert the staged rows of the organization.
 * @throws AppError `export_damaged` (409) if a table gets fewer rows than were staged
 */
export async function insertTables(
  tx: Sql,
  order: readonly MovedTable[],
  files: readonly TableFile[],
  arrival: store.Arrival,
  place: BackupTarget,
): Promise<void> {
  for (const table of order) {
    const file = files.find((each) => each.table === table.name);
    if (file === undefined) throw damaged(place, [`the rows of ${table.name} are missing`]);
    const count = await store.insertStaged(tx, file, table, arrival);
    if (count !== file.lines) {
      throw damaged(place, [`${file.key} gave ${count} rows, and ${file.lines} were written`]);
    }
  }
}

function taken(cause: unknown): AppError {
  const { table_name: table, constraint_name: name } = cause as { table_name?: string; constraint_name?: string };
  return new AppError({
    code: 'organization_exists',
    status: 409,
    message: `another organization of this installation already has a value that must be unique (${name} of ${table}), such as a person of the same identity provider; remove it here or at the source, and export again`,
    cause,
  });
}
