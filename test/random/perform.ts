import type { Appliance } from '../../src/appliance/appliance.ts';
import { deleteDocument, listDocuments } from '../../src/documents/documents.ts';
import { ListDocumentsQuery } from '../../src/documents/schema.ts';
import { queueMove } from '../../src/ingest/reindex/move-job.ts';
import { rebuildIndex } from '../../src/ingest/reindex/reindex-bucket.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { cancelJob, deleteJob, reprocessJob } from '../../src/jobs/operations.ts';
import { editDocument } from '../../src/metadata/edit-document.ts';
import { editDocuments } from '../../src/metadata/edit-documents.ts';
import { BulkEdit, SingleEdit } from '../../src/metadata/schema.ts';
import { AppError } from '../../src/platform/errors.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import * as events from './events.ts';
import type { Bucket, Installation } from './installation.ts';
import { Mismatch, type Model, type Trace } from './model.ts';
import type { Bulk, CallerName, Edit, Operation, PlacedOperation, Search, Upload } from './operations.ts';
import { writeStatement, writeWhere } from './operations.ts';
import { CHUNKING, wordOf, writeText } from './texts.ts';

/** Number of documents above which an upload of a new text deletes a document instead. */
const DOCUMENTS_MAX = 26;
const RESULTS_MAX = 100;
const TEAM = 'red';
const signal = new AbortController().signal;

export interface Site {
  readonly installation: Installation;
  readonly model: Model;
  readonly node: Appliance;
}

/**
 * Choose the target of an operation before its step begins.
 *
 * @returns function that runs it, or null without a target
 */
export function prepare(
  installation: Installation,
  model: Model,
  { operation, node }: PlacedOperation,
): (() => Promise<Trace | null>) | null {
  const site: Site = { installation, model, node: installation.nodes[node] as Appliance };
  switch (operation.kind) {
    case 'upload':
      return prepareUpload(site, operation);
    case 'edit':
      return withDocument(site, operation.document, ({ id, bucket }) =>
        edit(site, operation, bucketOf(site, bucket), id),
      );
    case 'bulk':
      return () => bulk(site, operation);
    case 'harddelete':
      return prepareHardDelete(site, operation);
    case 'delete':
      return withDocument(site, operation.document, ({ id, bucket }) => remove(site, bucketOf(site, bucket), id));
    case 'reprocess':
    case 'cancel':
    case 'delete job': {
      const job = model.pickJob(operation.job);
      return job && (() => changeJob(site, operation, job));
    }
    case 'search':
      return withDocument(site, operation.document, ({ bucket, text }) => search(site, { ...operation, bucket, text }));
    case 'list':
      return () => list(site, operation.bucket, operation.caller);
    default:
      return async () => {
        await answerOf(maintain(site, operation, node), ...installation.outages);
        return { label: operation.kind, eventOf: () => null };
      };
  }
}

function bucketOf({ installation }: Site, bucket: number): Bucket {
  return installation.buckets[bucket] as Bucket;
}

function withDocument(
  { model }: Site,
  ref: number,
  run: (document: events.KnownDocument) => Promise<Trace>,
): (() => Promise<Trace>) | null {
  const document = model.pickDocument(ref);
  return document && (() => run(document));
}

/** Return the answer, or the code of an allowed refusal. */
async function answerOf<T>(work: Promise<T>, ...codes: readonly string[]): Promise<T | string> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError && codes.includes(error.code)) return error.code;
    throw error;
  }
}

function prepareUpload(site: Site, upload: Upload): (() => Promise<Trace>) | null {
  const { model } = site;
  const original = upload.again === null ? null : model.pickDocument(upload.again);
  if (original === null && model.remaining().length >= DOCUMENTS_MAX) {
    return withDocument(site, 0.9, ({ id, bucket }) => remove(site, bucketOf(site, bucket), id));
  }
  if (original !== null) {
    const { text, isBad } = original;
    return () => uploadText(site, { ...upload, isBad, bucket: original.bucket }, text);
  }
  const text = model.texts++;
  return () => uploadText(site, upload, text);
}

async function uploadText({ installation, node }: Site, upload: Upload, text: number): Promise<Trace> {
  const { id: bucketId, collections } = installation.buckets[upload.bucket] as Bucket;
  const fileName = `${wordOf(text)}.txt`;
  const content = { bytes: writeText(text, upload.isBad), fileName, contentType: null };
  const request = UploadRequest.parse({
    ...CHUNKING,
    ...{ metadata: upload.metadata, privacy_level: upload.level, on_duplicate: upload.onDuplicate },
    ...(upload.collection === null ? {} : { collection_id: collections[upload.collection] }),
  });
  const label = `${upload.caller} uploads text ${text} (${upload.isBad ? 'bad, ' : ''}${upload.onDuplicate}) at level ${upload.level} with ${JSON.stringify(upload.metadata)}`;
  try {
    const reply = await uploadDocument(
      node.ingest.uploads,
      installation.callers[upload.caller],
      bucketId,
      content,
      request,
    );
    if (reply.duplicate_of !== undefined) {
      return { label: `${label}: ${reply.id} again`, eventOf: events.duplicated(upload, text, reply.id) };
    }
    const job = { id: reply.job_id as string, documentId: reply.id };
    return {
      label: `${label}: ${reply.id} by ${job.id}`,
      eventOf: events.uploaded(upload, text, reply.id, job.id),
      created: { id: reply.id, bucket: upload.bucket, collection: upload.collection, text, isBad: upload.isBad },
      jobs: [job],
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'duplicate_document') throw error;
    const id = /doc_\w+/.exec(error.message)?.[0] as string;
    return { label: `${label}: refused, as ${id}`, eventOf: events.duplicated(upload, text, id) };
  }
}

async function edit(site: Site, operation: Edit, bucket: Bucket, id: string): Promise<Trace> {
  const { installation, node } = site;
  const { caller, metadata, level, reindex } = operation;
  const request = SingleEdit.parse({ metadata, reindex, ...(level === null ? {} : { privacy_level: level }) });
  const answer = await answerOf(
    editDocument(node.metadata, installation.callers[caller], bucket.id, id, request),
    ...['document_not_found', 'auth_level_too_low'],
  );
  const job = typeof answer === 'string' ? null : answer.reindex_job_id;
  const shown =
    typeof answer === 'string' ? answer : pick(answer, 'metadata', 'reindex_job_id', 'indexed_vectors_deleted');
  return {
    label: `${caller} edits ${id} by ${JSON.stringify(request)}: ${JSON.stringify(shown)}`,
    eventOf: events.edited(operation, id, answer),
    jobs: job === null ? [] : [{ id: job, documentId: id }],
  };
}

async function bulk(site: Site, operation: Bulk): Promise<Trace> {
  const { installation, node } = site;
  const { id } = bucketOf(site, operation.bucket);
  const statement = writeStatement(operation);
  if (statement === null) return { label: 'no change', eventOf: () => null };
  const request = BulkEdit.parse({ statement, reindex: operation.reindex });
  const reply = await editDocuments(node.metadata, installation.callers[operation.caller], id, request);
  const items = reply.items.map((item) => pick(item, 'id', 'reindex_job_id', 'indexed_vectors_deleted', 'metadata'));
  return {
    label: `${operation.caller}: ${statement}, reindex=${operation.reindex}: ${JSON.stringify(items)} ${reply.warnings}`,
    eventOf: events.bulkEdited(operation, reply),
    jobs: reply.items.flatMap((item) =>
      item.reindex_job_id === null ? [] : [{ id: item.reindex_job_id, documentId: item.id }],
    ),
    shown: reply.items.map((item) => item.id),
  };
}

function prepareHardDelete(site: Site, operation: Operation & { kind: 'harddelete' }): () => Promise<Trace> {
  const { installation, node, model } = site;
  const picked = operation.documents.flatMap((ref) => model.pickDocument(ref)?.id ?? []);
  const { id } = bucketOf(site, operation.bucket);
  return async () => {
    const list = ['', ...picked].map((document) => `'${document}'`).join(', ');
    const statement = `HARDDELETE FROM documents WHERE id IN (${list}) AND ${writeWhere(operation.where)}`;
    const request = BulkEdit.parse({ statement, confirm: `HARDDELETE ${id}` });
    const reply = await editDocuments(node.metadata, installation.callers.high, id, request);
    return {
      label: `${statement}: ${reply.items.map((item) => item.id)}`,
      eventOf: events.hardDeleted(operation.bucket, operation.where, picked, reply),
    };
  };
}

async function remove({ installation, node }: Site, bucket: Bucket, id: string): Promise<Trace> {
  const answer = await answerOf(
    deleteDocument(node.sql, installation.callers.high, bucket.id, id),
    'document_not_found',
  );
  return { label: `deletes ${id}: ${answer ?? 'done'}`, eventOf: events.deleted(id, answer === undefined) };
}

async function changeJob(
  { installation, node }: Site,
  operation: Operation & { kind: 'reprocess' | 'cancel' | 'delete job' },
  { id, documentId }: { id: string; documentId: string },
): Promise<Trace> {
  const caller = installation.callers.high;
  const label = `${operation.kind} ${id} of ${documentId}`;
  if (operation.kind === 'cancel') {
    const { force } = operation;
    const answer = await answerOf(
      cancelJob(node.jobs.operations, caller, id, { force }),
      ...['job_not_found', 'job_in_progress', 'job_state_changed'],
    );
    return { label: `${label}: ${JSON.stringify(answer)}`, eventOf: events.cancelled(documentId, id, answer) };
  }
  if (operation.kind === 'delete job') {
    const answer = await answerOf(deleteJob(node.jobs.operations, caller, id), 'job_not_found', 'job_in_progress');
    return { label: `${label}: ${answer ?? 'done'}`, eventOf: events.jobDeleted(documentId, id, answer ?? null) };
  }
  const answer = await answerOf(
    reprocessJob(node.jobs.operations, caller, id),
    ...['job_not_found', 'job_not_terminal', 'document_not_found'],
  );
  return {
    label: `${label}: ${typeof answer === 'string' ? answer : answer.id}`,
    eventOf: events.reprocessed(documentId, id, answer),
    jobs: typeof answer === 'string' ? [] : [{ id: answer.id, documentId }],
  };
}

/** Search the word of a text. @throws Mismatch for a partial or duplicate document or a chunk without the word */
export async function search(
  { installation, model, node }: Site,
  { bucket, text, caller, mode, narrow }: Omit<Search, 'kind' | 'document'> & { bucket: number; text: number },
): Promise<Trace> {
  const { id, collections } = installation.buckets[bucket] as Bucket;
  const narrowing = { collection: narrow === 'collection' ? 0 : null, team: narrow === 'filter' ? TEAM : null };
  const request = SearchRequest.parse({
    // The words differ by a letter, which would be corrected.
    ...{ query: wordOf(text), top_k: RESULTS_MAX, mode, correct: false },
    ...(narrow === 'collection' ? { collection: collections[0] } : {}),
    ...(narrow === 'filter' ? { filter: { team: TEAM } } : {}),
  });
  const reply = await answerOf(
    searchBucket(node.search, installation.callers[caller], id, request),
    ...installation.outages,
  );
  if (typeof reply === 'string') return { label: `${caller} searches text ${text}: ${reply}`, eventOf: () => null };
  const { results, warnings } = reply;
  const found = Map.groupBy(results, (result) => result.document_id);
  const label = `${caller} searches text ${text} (${mode}, ${narrow}): ${[...found].map(([id, chunks]) => `${id} x ${chunks.length}`)} ${warnings}`;
  if (new Set(results.map((result) => result.id)).size < results.length)
    throw new Mismatch(`${label}: a chunk is found twice`);
  if (mode === 'keyword') {
    if (results.some((result) => !result.text.includes(wordOf(text))))
      throw new Mismatch(`${label}: a chunk does not contain the word`);
    if (results.length < RESULTS_MAX) for (const chunks of found.values()) model.noteChunks(text, chunks.length, label);
  }
  return {
    label,
    eventOf: events.searched(
      { bucket, text, caller, narrowing },
      new Map([...found].map(([document, [chunk]]) => [document, chunk?.metadata ?? {}])),
    ),
    shown: [...found.keys()],
    chunks: results.map((result) => result.id),
  };
}

export async function list({ installation, node }: Site, bucket: number, caller: CallerName): Promise<Trace> {
  const { id } = installation.buckets[bucket] as Bucket;
  const query = ListDocumentsQuery.parse({ limit: 200 });
  const { data, has_more } = await listDocuments(node.sql, installation.callers[caller], id, query);
  if (has_more) throw new Error('there are more documents than one page shows');
  const lines = data.map(
    (view) => `${view.id} ${view.status}${view.searchable ? '' : ' disabled'} ${view.chunks_count}`,
  );
  return {
    label: `${caller} lists bucket ${bucket}: ${lines.join(', ')}`,
    eventOf: events.listed(bucket, caller, data),
    shown: data.map((view) => view.id),
  };
}

async function maintain({ installation, node }: Site, operation: Operation, nth: number): Promise<void> {
  switch (operation.kind) {
    case 'rebuild':
      await answerOf(
        rebuildIndex(node.ingest.reindex, installation.callers.high, bucketOfIndex(), { signal }),
        ...['index_empty', 'index_busy'],
      );
      return;
    case 'move':
      await answerOf(
        queueMove(
          node.ingest.reembed,
          installation.callers.high,
          { bucket: bucketOfIndex(), engine: operation.engine },
          { dryRun: false },
        ),
        'reindex_in_progress',
      );
      return;
    case 'kill engine':
      return installation.killEngine();
    case 'optimize':
      return node.ingest.reindex.index.optimize(bucketOfIndex(), signal);
    case 'housekeeping':
      return installation.housekeep(nth);
    case 'purge':
      return node.documents.purge(signal);
    case 'restart':
      return installation.restartWorker(operation.worker);
    case 'abandon':
      return installation.abandonJobs();
    case 'kill':
      return installation.killWorker();
    default:
      throw new Error(operation.kind);
  }

  function bucketOfIndex(): string {
    return (installation.buckets['bucket' in operation ? operation.bucket : 0] as Bucket).id;
  }
}

function pick<T, K extends keyof T>(from: T, ...keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<T, K>;
}
