import { recordAudit } from '../access/audit.ts';
import { sealPepper } from '../access/key-pepper.ts';
import type { MovingOrganization } from '../access/move-store.ts';
import { findOrganization } from '../access/organizations.ts';
import { copyObjects } from '../backup/copy-objects.ts';
import { readLines, SortedCursor, writeLineFile } from '../backup/files.ts';
import type { LineFile } from '../backup/schema.ts';
import { readSnapshotTime, SNAPSHOT } from '../backup/snapshot-store.ts';
import { findMissing, readObjectEntries } from '../backup/stored-objects.ts';
import { type AppError, conflict } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { listAppliedMigrations } from '../platform/migrate.ts';
import { withoutDeletions } from '../platform/objects/guard-deletions.ts';
import type { Sql } from '../platform/postgres.ts';
import { VERSION } from '../platform/version.ts';
import { drain } from './drain.ts';
import { copyReferencesOf, prepareExport, selectFacts, selectNeeds } from './export-store.ts';
import { findManifest, OBJECTS_KEY, readBegun, SEALED_KEY, tableKey, writeBegun, writeManifest } from './layout.ts';
import { type MoveContext, type MoveOptions, readMoving, withMoveLock } from './move-context.ts';
import { FORMAT, type Manifest } from './schema.ts';
import { MOVED } from './tables.ts';
import { writeSealed, writeTables } from './write-rows.ts';

const REFERENCES_KEY = 'references.gz';
/** List of the files copied before the organization becomes read-only. */
const FIRST_OBJECTS_KEY = 'objects-before.gz';

/** Return the key prefixes of an organization's files, in byte order. */
export function prefixesOf(orgId: string): string[] {
  return ['batches', 'bulk', 'documents', 'files'].map((folder) => `${folder}/${orgId}/`);
}

export interface ExportReport
  extends Omit<Manifest, 'format' | 'kind' | 'tables' | 'sealed' | 'sealed_pepper' | 'objects'> {
  readonly place: string;
  readonly rows: number;
  readonly files: number;
  readonly bytes: number;
  /** Number of jobs in progress that were requeued, to run on the target. */
  readonly requeued_jobs: number;
}

/**
 * Export an organization. The source copies most files first, then makes the organization read-only; searches, lists
 * and embedding continue. After an interruption, the next call continues from the copied files.
 * @param options.waitMs maximum wait for jobs in progress
 * @throws AppError `organization_not_found` (404), `export_elsewhere`, `export_foreign`, `organization_moved`,
 *   `organization_arriving`, `move_running` (409), the errors of `drain` and `Objects`; the reason of the signal
 */
export async function exportOrganization(
  context: MoveContext,
  organizationRef: string,
  options: MoveOptions & { readonly waitMs: number },
): Promise<ExportReport> {
  const { id } = await findOrganization(context.sql, organizationRef);
  return withMoveLock(context, id, options.signal, async (signal) => {
    const organization = await readMoving(context.sql, id);
    return new ExportRun(context, organization, { ...options, signal }).run();
  });
}

class ExportRun {
  readonly #context: MoveContext;
  readonly #organization: MovingOrganization;
  readonly #options: MoveOptions & { readonly waitMs: number };

  constructor(
    context: MoveContext,
    organization: MovingOrganization,
    options: MoveOptions & { readonly waitMs: number },
  ) {
    this.#context = context;
    this.#organization = organization;
    this.#options = options;
  }

  async run(): Promise<ExportReport> {
    const { place, key, signal, actor, waitMs } = this.#options;
    const { id: orgId } = this.#organization;
    const moveId = await this.#begin();
    const complete = this.#organization.state === 'moving' ? await findManifest(place, key) : null;
    if (complete !== null) return this.#report(complete, 0);
    // Copy nearly all files first, to keep the read-only time short.
    const first = this.#organization.state === null ? await this.#copyFiles(FIRST_OBJECTS_KEY, [], signal) : null;
    const { requeued } = await drain(this.#context, { orgId, moveId, waitMs }, this.#options);
    const known = first === null ? [] : [first.list];
    const manifest = await withoutDeletions(
      this.#context.direct,
      (lost) => this.#write(moveId, known, AbortSignal.any([signal, lost])),
      signal,
    );
    await writeManifest(place, key, manifest);
    await place.objects.delete(FIRST_OBJECTS_KEY);
    const { documents, chunks } = manifest;
    const detail = { place: place.name, documents, chunks };
    await recordAudit(this.#context.sql, { orgId, actor, action: 'organization.export', target: moveId, detail });
    return this.#report(manifest, requeued);
  }

  /** Find the export that this call continues, or begin a new one. Return its id. */
  async #begin(): Promise<string> {
    const { place, signal } = this.#options;
    const { id, name, state, moveId: held } = this.#organization;
    if (state === 'moved') throw moved(name);
    if (state === 'arriving') throw arriving(name);
    const begun = await readBegun(place);
    if (begun === null ? await hasObjects(place.objects, signal) : begun.org_id !== id) {
      throw conflict(
        `${place.name} holds something else; choose an empty folder or prefix for ${name}`,
        'export_foreign',
      );
    }
    if (held !== null && begun?.move_id === held) return held;
    if (held !== null) {
      throw conflict(
        `${name} is being exported to another place; continue there, or end that export with "service orgs export ${name} --cancel"`,
        'export_elsewhere',
      );
    }
    const moveId = newId('mov');
    await writeBegun(place, { move_id: moveId, org_id: id });
    return moveId;
  }

  #copyFiles(listKey: string, known: readonly LineFile[], signal: AbortSignal) {
    const { place, onProgress } = this.#options;
    return copyObjects(this.#context.objects, place.objects, {
      known: known.map((file) => new SortedCursor(readObjectEntries(place.objects, file, signal))),
      listKey,
      prefixes: prefixesOf(this.#organization.id),
      signal,
      onFile: (done) => onProgress?.({ phase: 'files', done, total: null }),
    });
  }

  async #write(moveId: string, known: readonly LineFile[], signal: AbortSignal): Promise<Manifest> {
    const { place, key } = this.#options;
    const { id: orgId, name, plan } = this.#organization;
    const files = await this.#copyFiles(OBJECTS_KEY, known, signal);
    const rows = await this.#context.direct.begin(SNAPSHOT, async (tx) => {
      await prepareExport(tx, orgId);
      return this.#writeRows(tx, signal);
    });
    const { facts, references, ...rest } = rows;
    const missing = findMissing(
      readLines(place.objects, references, signal),
      readObjectEntries(place.objects, files.list, signal),
    );
    return {
      format: FORMAT,
      kind: 'organization',
      move_id: moveId,
      service_version: VERSION,
      source: this.#context.installationId,
      organization: { id: orgId, name, plan },
      ...rest,
      sealed_pepper: sealPepper(key.encryption, this.#context.keyRing.apiKeyPepper, orgId).toString('base64'),
      objects: { ...files.list, object_bytes: files.bytes },
      missing_objects: await countOf(missing),
      generations: facts.generations,
      documents: facts.documents,
      chunks: facts.chunks,
      key_ids: [...facts.keyIds],
      people_with_passwords: facts.peopleWithPasswords,
    };
  }

  async #writeRows(tx: Sql, signal: AbortSignal) {
    const { place, key, onProgress } = this.#options;
    const { id: orgId } = this.#organization;
    const { keyRing } = this.#context;
    const createdAt = await readSnapshotTime(tx);
    const applied = await listAppliedMigrations(tx);
    const tables = await writeTables(tx, MOVED, tableKey, {
      place,
      signal,
      onTable: (done) => onProgress?.({ phase: 'rows', done, total: MOVED.length }),
    });
    const needs = { schema_version: applied.at(-1)?.version ?? 0, ...(await selectNeeds(tx, orgId)) };
    return {
      created_at: createdAt.toISOString(),
      needs,
      tables,
      sealed: await writeSealed(tx, MOVED, SEALED_KEY, { place, signal, keyRing, key }),
      references: await copyReferencesOf(tx, (keys) => writeLineFile(place.objects, REFERENCES_KEY, keys, signal)),
      facts: await selectFacts(tx, orgId),
    };
  }

  #report(manifest: Manifest, requeued: number): ExportReport {
    const {
      format: _format,
      kind: _kind,
      tables,
      sealed: _sealed,
      sealed_pepper: _pepper,
      objects,
      ...rest
    } = manifest;
    return {
      ...rest,
      place: this.#options.place.name,
      rows: tables.reduce((sum, { lines }) => sum + lines, 0),
      files: objects.lines,
      bytes: objects.object_bytes,
      requeued_jobs: requeued,
    };
  }
}

async function hasObjects(objects: MoveContext['objects'], signal: AbortSignal): Promise<boolean> {
  for await (const _ of objects.list('', { signal })) return true;
  return false;
}

async function countOf(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) count++;
  return count;
}

function moved(name: string): AppError {
  return conflict(
    `${name} has moved to another installation; export it there, or take it back with "service orgs export ${name} --cancel --force"`,
    'organization_moved',
  );
}

function arriving(name: string): AppError {
  return conflict(
    `${name} is arriving from another installation; finish its import first, or discard it with "service orgs delete ${name}"`,
    'organization_arriving',
  );
}
