import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { until } from './until.ts';

const CONCURRENT_UPLOADS = 8;
/** Time limit for ingesting thousands of documents, including vectors of a local model, on two busy cores. */
const SET_MS_MAX = 3_600_000;

/**
 * Upload documents into a bucket and wait until all of them are ready and have vectors. A worker must be running.
 *
 * @returns ids of the caller by document id, and documents per second from the first upload to the last ready document
 */
export async function ingestAll(
  appliance: Appliance,
  caller: Caller,
  bucket: string,
  documents: readonly { id: string; fileName: string; text: string; metadata?: Record<string, string> }[],
): Promise<{ idOf: Map<string, string>; perSecond: number }> {
  const idOf = new Map<string, string>();
  const beganMs = performance.now();
  const queue = documents.values();
  const uploader = async () => {
    for (const { id, fileName, text, metadata } of queue) {
      const content = { bytes: Buffer.from(text), fileName, contentType: null };
      const request = UploadRequest.parse({ on_duplicate: 'allow', ...(metadata === undefined ? {} : { metadata }) });
      idOf.set((await uploadDocument(appliance.ingest.uploads, caller, bucket, content, request)).id, id);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, uploader));
  await until(
    async () => {
      const [row] = await appliance.sql`
        SELECT count(*) FILTER (WHERE d.status = 'ready')::int AS ready,
               count(*) FILTER (WHERE d.status = 'failed')::int AS failed
        FROM documents d JOIN buckets b ON b.id = d.bucket_id
        WHERE b.org_id = ${caller.orgId} AND b.name = ${bucket}`;
      if ((row?.['failed'] as number) > 0) throw new Error(`${row?.['failed']} documents failed`);
      return row?.['ready'] === documents.length;
    },
    { withinMs: SET_MS_MAX, everyMs: 50, what: 'ingest' },
  );
  const perSecond = documents.length / ((performance.now() - beganMs) / 1000);
  // A local model computes the vectors after the documents are ready.
  await until(
    async () => {
      const rows = await appliance.sql`
        SELECT 1 FROM documents d JOIN buckets b ON b.id = d.bucket_id
        WHERE b.org_id = ${caller.orgId} AND b.name = ${bucket} AND d.keyword_only AND d.status = 'ready' LIMIT 1`;
      return rows.length === 0;
    },
    { withinMs: SET_MS_MAX, everyMs: 50, what: 'vectors of all documents' },
  );
  return { idOf, perSecond };
}
