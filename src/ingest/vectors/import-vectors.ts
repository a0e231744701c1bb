import { createHash } from 'node:crypto';
import type { Caller } from '../../access/caller.ts';
import { requireMetadataManager } from '../../access/roles.ts';
import { requireOwnDepartment } from '../../documents/access-policy.ts';
import { findNewestOfPaths, lockPath } from '../../documents/content-store.ts';
import { nextContentKey, originalKey } from '../../documents/documents.ts';
import type { BucketView } from '../../documents/schema.ts';
import { requireStorage } from '../../documents/storage-limit.ts';
import { findBucket, findCollection, lockBucketPolicy } from '../../documents/store.ts';
import { findBucketOrigin } from '../../index/index-store.ts';
import { notifyWorkers } from '../../jobs/notifier.ts';
import type { Catalog, Model } from '../../models/catalog.ts';
import { conflict, invalidRequest } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { mapYielding } from '../../platform/map-yielding.ts';
import { mayHaveCommitted, type Sql } from '../../platform/postgres.ts';
import { boundedLine, fileNameOf } from '../../platform/printable.ts';
import { gradeOf } from '../../projection/fit/evaluate-map.ts';
import { type ActiveMap, mapInto, type Projections, spaceOf } from '../../projection/projections.ts';
import { registerStored, textsOf, type WantedUpload } from '../register-upload.ts';
import { replaceDocument } from '../replace-document.ts';
import { FileName, UploadRequest } from '../schema.ts';
import { accessOfUpload, type UploadContext } from '../upload.ts';
import type { ImportedRow, ImportReply, ImportRequest, VectorRow } from './schema.ts';
import { encodeVectorDocument, floatsOfBase64, unitVector, VECTOR_TYPE, vectorFault } from './vector-document.ts';

/** Lock name that admits one import per bucket at a time. No path has this name. */
const IMPORT = '';
/** Rows to check before yielding. Each takes up to 0.1 ms. */
const ROWS_AT_ONCE = 32;
/** Maximum length of a document name derived from an id. */
const NAME_CHARS_MAX = 255;

export interface ImportContext extends Pick<UploadContext, 'sql' | 'objects' | 'notifier' | 'logger' | 'plans'> {
  readonly projections: Projections;
  readonly catalog: Pick<Catalog, 'find'>;
}

/** Row with a checked vector, and the content of its document. */
interface CheckedRow {
  readonly row: VectorRow;
  readonly bytes: Buffer;
  readonly sha256: Buffer;
}

/** Row with its document: a new one, or the one that it replaces or equals. */
interface PlannedRow extends CheckedRow {
  readonly action: ImportedRow['action'];
  readonly documentId: string;
  readonly jobId: string | null;
}

/**
 * Import vectors of a model: each row becomes a document with one chunk, whose ingest job maps the vector into the
 * bucket's space. A row with the id of an earlier one replaces its document; the same vector and text change nothing.
 * Either all rows of a request are stored, or none.
 *
 * @throws AppError `bucket_not_found`, `collection_not_found` (404), `unknown_model`, `invalid_request` (400) with the
 *   row, `not_comparable` (409): the model has no map into the bucket's space, `scope_not_yours`, `role_missing` (403),
 *   `storage_quota_exceeded` (402), `path_busy` (409)
 */
export async function importVectors(
  context: ImportContext,
  caller: Caller,
  bucketRef: string,
  request: ImportRequest,
): Promise<ImportReply> {
  const { sql, projections } = context;
  const bucket = await findBucket(sql, caller, bucketRef);
  const upload = await uploadFieldsOf(sql, caller, bucket, request);
  const model = findSemantic(context, request.model);
  const checked = await checkRows(request, model);
  const { space, map } = await findMap(context, bucket, model);
  const planned = await plan(sql, caller, bucket.id, checked);
  const jobs = request.dry_run
    ? new Map<string, string | null>()
    : await store(context, caller, bucket, upload, planned);
  const count = (action: ImportedRow['action']) => planned.filter((row) => row.action === action).length;
  return {
    bucket_id: bucket.id,
    model: model.id,
    space,
    map: map && { version: map.version, score: map.score },
    dry_run: request.dry_run,
    counts: {
      added: count('add'),
      replaced: count('replace'),
      unchanged: count('keep'),
      without_text: checked.filter(({ row }) => !row.text).length,
    },
    documents: planned.map(({ row, action, documentId, jobId }) => ({
      id: row.id,
      document_id: request.dry_run && action === 'add' ? null : documentId,
      job_id: request.dry_run ? null : (jobs.get(documentId) ?? jobId),
      action,
    })),
    warnings: warningsOf(model, map, projections.mapOf(model)),
  };
}

function findSemantic({ catalog }: ImportContext, id: string): Model {
  const model = catalog.find(id);
  if (model.kind === 'semantic') return model;
  throw invalidRequest(`model: ${id} has no native vectors; name the model that made these vectors`, 'model');
}

/** Decode and check all rows. @throws AppError `invalid_request` (400) naming the first invalid row */
function checkRows({ rows, normalize }: ImportRequest, model: Model): Promise<CheckedRow[]> {
  const places = new Map<string, number>();
  return mapYielding([...rows.entries()], ROWS_AT_ONCE, ([at, row]) => {
    const before = places.get(row.id);
    if (before !== undefined) throw rowFault(at, 'id', `"${row.id}" is already the id of rows[${before}]`);
    places.set(row.id, at);
    const given = typeof row.vector === 'string' ? floatsOfBase64(row.vector) : Float32Array.from(row.vector);
    if (given === null) throw rowFault(at, 'vector', 'is not float32 in base64');
    if (given.length !== model.nativeDimension) {
      throw rowFault(at, 'vector', `has ${given.length} numbers, but ${model.id} has ${model.nativeDimension}`);
    }
    const vector = normalize ? unitVector(given) : given;
    const fault = vectorFault(vector);
    if (fault !== null) throw rowFault(at, 'vector', fault);
    const bytes = encodeVectorDocument({
      model: model.id,
      revision: model.revision,
      vector: unitVector(vector),
      text: row.text || null,
    });
    return { row, bytes, sha256: createHash('sha256').update(bytes).digest() };
  });
}

function rowFault(at: number, field: 'id' | 'vector', fault: string) {
  return invalidRequest(`rows[${at}].${field}: ${fault}`, `rows[${at}].${field}`);
}

/** Find the map of a model into a bucket's space. @throws AppError `not_comparable` (409) if there is none */
async function findMap({ sql, projections }: ImportContext, { id, name }: BucketView, model: Model) {
  const origin = await findBucketOrigin(sql, id);
  const space = origin?.space ?? spaceOf(projections, model);
  const map = mapInto(projections, model, space);
  if (map !== undefined) return { space, map };
  throw conflict(
    `the vectors of bucket ${name} are in the latent space ${space}, and ${model.id} has no map into it; fit one ` +
      `(service projections fit --model ${model.id}), or import into another bucket`,
    'not_comparable',
  );
}

function warningsOf({ id }: Model, map: ActiveMap | null, active: ActiveMap | null): string[] {
  if (map === null) {
    if (active !== null) return [];
    return [`${id} has no map; only queries of this model find the vectors until "service projections fit" maps it`];
  }
  if (map.score === null || gradeOf(map.score) === 'good') return [];
  const share = `a search through it finds ${(map.score * 100).toFixed(1)} % of held-out texts first`;
  return gradeOf(map.score) === 'warn'
    ? [`the map of ${id} is usable with care: ${share}`]
    : [`the map of ${id} does not reach the score for use (0.90): ${share}; fit it with texts of your own`];
}

/** Resolve the request fields that apply to all rows. */
async function uploadFieldsOf(sql: Sql, caller: Caller, bucket: BucketView, request: ImportRequest) {
  const { collection_id, privacy_level, classification, public_accessible } = request;
  if (public_accessible) requireMetadataManager(caller);
  const collection = collection_id ? await findCollection(sql, caller.orgId, bucket.id, collection_id) : null;
  const access = await accessOfUpload(sql, caller, request);
  const fields = UploadRequest.parse({ privacy_level, classification, public_accessible });
  return { fields: { ...fields, access }, collectionId: collection?.id ?? null };
}

type UploadFields = Awaited<ReturnType<typeof uploadFieldsOf>>;

async function plan(sql: Sql, caller: Caller, bucketId: string, checked: readonly CheckedRow[]): Promise<PlannedRow[]> {
  for (const { row } of checked) requireOwnDepartment(caller, row.metadata?.['scope'] ?? null);
  const paths = checked.map(({ row }) => row.id);
  const present = await findNewestOfPaths(sql, caller, bucketId, paths);
  return checked.map((each) => {
    const found = present.get(each.row.id);
    if (found === undefined) return { ...each, action: 'add', documentId: newId('doc'), jobId: null };
    const isSame = found.sha256.equals(each.sha256) && found.status !== 'failed';
    return {
      ...each,
      action: isSame ? 'keep' : 'replace',
      documentId: found.id,
      jobId: isSame && found.status === 'ready' ? null : found.jobId,
    };
  });
}

/**
 * Store the contents, then write documents and jobs in one transaction.
 * @returns the job of each written document
 */
async function store(
  { sql, objects, notifier, logger, plans }: ImportContext,
  caller: Caller,
  { id: bucketId }: BucketView,
  upload: UploadFields,
  planned: readonly PlannedRow[],
): Promise<Map<string, string | null>> {
  const storageBytesMax = plans[caller.plan]?.storageBytes ?? null;
  const written = planned.filter(({ action }) => action !== 'keep');
  const all = written.map((row) => ({ row, wanted: wantedOf(caller, row, upload, storageBytesMax) }));
  if (all.length === 0) return new Map();
  const added = all.filter(({ row }) => row.action === 'add').map(({ wanted }) => wanted);
  const replacing = all.filter(({ row }) => row.action === 'replace').map(({ wanted }) => wanted);
  await objects.putMany(all.map(({ row, wanted }) => ({ key: wanted.upload.key, bytes: Uint8Array.from(row.bytes) })));
  try {
    const { jobs, replacedKeys } = await sql.begin(async (tx) => {
      const bucket = await lockBucketPolicy(tx, caller.orgId, bucketId);
      await lockPath(tx, bucketId, IMPORT);
      await refuseRaces(tx, caller, bucketId, written);
      const addedBytes = added.reduce((sum, { upload: { stored } }) => sum + stored.sizeBytes, 0);
      await requireStorage(tx, caller, addedBytes, storageBytesMax);
      const registered = await registerStored(tx, caller, bucket, added);
      const made = new Map(added.map(({ upload: { id } }, at) => [id, registered[at] ?? null]));
      const keys: string[] = [];
      for (const wanted of replacing) {
        const { scope, ...metadata } = textsOf(wanted.request.metadata);
        const replaced = await replaceDocument(tx, caller, bucketId, wanted.upload, {
          ...wanted,
          scope,
          metadata,
          policy: bucket.policy,
        });
        if (replaced === null) throw busy();
        made.set(replaced.reply.id, replaced.reply.job_id);
        if (replaced.replacedKey !== null) keys.push(replaced.replacedKey);
      }
      return { jobs: made, replacedKeys: keys };
    });
    // After a crash before this line, the replaced contents stay until their documents are deleted.
    for (const key of replacedKeys) await objects.delete(key).catch(() => undefined);
    await notifyWorkers({ notifier, logger }, 'ingest');
    return jobs;
  } catch (error) {
    // The rows may exist nevertheless. A sweep deletes bytes without rows.
    if (!mayHaveCommitted(error)) {
      for (const { wanted } of all) {
        await objects.delete(wanted.upload.key, { unreferenced: true }).catch(() => undefined);
      }
    }
    throw error;
  }
}

function wantedOf(
  caller: Caller,
  { row, bytes, sha256, action, documentId }: PlannedRow,
  { fields, collectionId }: UploadFields,
  storageBytesMax: number | null,
): WantedUpload {
  const isReplacement = action === 'replace';
  return {
    upload: {
      id: documentId,
      isReplacement,
      key: (isReplacement ? nextContentKey : originalKey)(caller.orgId, documentId),
      stored: { sizeBytes: bytes.length, sha256: sha256.toString('hex') },
      content: { fileName: row.file_name ?? nameOf(row.id), contentType: VECTOR_TYPE },
      workflowId: null,
      storageBytesMax,
    },
    request: { ...fields, source_path: row.id, metadata: row.metadata },
    collectionId,
  };
}

/** Derive a document name from the id of its row. */
function nameOf(id: string): string {
  const name = FileName.safeParse(boundedLine(fileNameOf(id), NAME_CHARS_MAX));
  return name.data ?? 'vector';
}

/** Refuse rows whose ids gained or lost a document since planning. */
async function refuseRaces(tx: Sql, caller: Caller, bucketId: string, rows: readonly PlannedRow[]): Promise<void> {
  const paths = rows.map(({ row }) => row.id);
  const present = await findNewestOfPaths(tx, caller, bucketId, paths);
  for (const { row, action, documentId } of rows) {
    if (present.get(row.id)?.id !== (action === 'add' ? undefined : documentId)) throw busy();
  }
}

function busy() {
  return conflict('another upload or import of one of these ids came between; send the request again', 'path_busy');
}
