import { setImmediate } from 'node:timers/promises';
import { conflict } from '../platform/errors.ts';
import { FairGate } from '../platform/fair-gate.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { ArtifactChunk } from './artifact.ts';
import { readArtifactParts } from './artifact-store.ts';
import type { ReadableDocument } from './store.ts';

export interface ReadingContext {
  readonly sql: Sql;
  readonly objects: Objects;
}

/** Limits on concurrent artifact reads. A part of an artifact takes up to 10 MB with its vectors. */
const READS = { runningMax: 4, runningOfOneMax: 2, waitingOfOneMax: 200 };
/** Number of chunks between yields to the event loop. Searching for words takes up to 0.2 ms per chunk. */
const CHUNKS_PER_SLICE = 32;

const reads = new FairGate(READS);

/**
 * Call `see` with each chunk of a document in order until it returns false.
 *
 * @throws AppError `document_not_ready` (409)
 */
export async function eachChunk(
  { objects }: Pick<ReadingContext, 'objects'>,
  orgId: string,
  { artifactKey }: Pick<ReadableDocument, 'artifactKey'>,
  signal: AbortSignal,
  see: (chunk: ArtifactChunk) => boolean,
): Promise<void> {
  if (artifactKey === null) {
    throw conflict('the document has no text yet; wait until its status is "ready"', 'document_not_ready');
  }
  const read = async () => {
    for await (const part of readArtifactParts(objects, artifactKey, { signal, withVectors: false })) {
      for (const [nth, chunk] of part.chunks.entries()) {
        if (nth % CHUNKS_PER_SLICE === CHUNKS_PER_SLICE - 1) await setImmediate();
        if (!see(chunk)) return;
      }
    }
  };
  await reads.run(orgId, read, () => signal);
}
