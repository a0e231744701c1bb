import { call, pathOf } from '../../lib/api.ts';
import { readList } from '../../lib/lists.ts';
import type { BucketDetails, BucketView } from '../../types.ts';

/** A bucket and the model of its vectors; null: it is empty. */
export interface BucketModel {
  readonly id: string;
  readonly name: string;
  readonly documents: number;
  readonly model: string | null;
  readonly space: string | null;
}

const AT_ONCE = 6;

/** Read the model of every bucket, some at a time. */
export async function readBucketModels(signal?: AbortSignal): Promise<readonly BucketModel[]> {
  const data = await readList<BucketView>('/v1/buckets', signal);
  const found = new Map<string, BucketModel>();
  const waiting = data.values();
  const reader = async () => {
    for (const { id, name, document_count: documents = 0 } of waiting) {
      const { embedding } = await call<BucketDetails>(pathOf('v1', 'buckets', id), { signal });
      found.set(id, { id, name, documents, model: embedding?.model ?? null, space: embedding?.space ?? null });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
  return data.flatMap(({ id }) => found.get(id) ?? []);
}
