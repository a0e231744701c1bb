import { artifactKey } from '../documents/documents.ts';
import type { Job } from '../jobs/schema.ts';
import type { EmbeddedChunks } from './chunk-embedder.ts';
import type { NewGeneration } from './generation-store.ts';
import type { IngestSource } from './source-store.ts';

/** Describe the generation that a job writes for a document. */
export function generationOf(
  job: Job,
  source: IngestSource,
  chunksCount: number,
  embedded: EmbeddedChunks,
): NewGeneration {
  const { orgId, bucketId, documentId } = source;
  const id = job.generation as number;
  return {
    id,
    orgId,
    bucketId,
    documentId,
    jobId: job.id,
    artifactKey: artifactKey(orgId, documentId, id),
    chunksCount,
    embedModel: embedded.model,
    embedRevision: embedded.native?.revision ?? null,
    space: embedded.space,
    mapVersion: embedded.mapVersion,
    nativeDimension: embedded.native?.dimension ?? null,
    hasText: true,
    replaces: null,
  };
}
