/**
 * Version of the terms of the index. A change to the terms of any text needs a new version. The index of a bucket with
 * an earlier version is then rebuilt from its stored texts and vectors, without embedding
 * (`src/ingest/reindex/renew-terms.ts`).
 */
export const INDEX_TERMS_VERSION = 2;
