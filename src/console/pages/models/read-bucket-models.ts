import { readList } from '../../lib/lists.ts';
import type { ListedBucket } from '../../types.ts';

/** Bucket and the model of its vectors; null if it is empty. */
export interface BucketModel {
  readonly id: string;
  readonly name: string;
  readonly documents: number;
  readonly model: string | null;
  readonly space: string | null;
}

/** Read the model of every bucket. */
export async function readBucketModels(signal?: AbortSignal): Promise<readonly BucketModel[]> {
  const buckets = await readList<ListedBucket>('/v1/buckets', signal);
  return buckets.map(({ id, name, document_count: documents = 0, embedding }) => ({
    id,
    name,
    documents,
    model: embedding?.model ?? null,
    space: embedding?.space ?? null,
  }));
}
