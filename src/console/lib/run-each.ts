import type { ApiError } from './api.ts';
import { asApiError } from './resource.ts';

const AT_ONCE = 4;

/** Outcome of an operation on many rows. */
export interface Outcome<T> {
  readonly done: readonly T[];
  readonly failed: readonly { readonly row: T; readonly error: ApiError }[];
}

/** Run an operation on each row, a few at a time. A failure of one row doesn't stop the others. */
export async function runEach<T>(
  rows: readonly T[],
  operation: (row: T) => Promise<unknown>,
  onProgress: (ended: number) => void,
): Promise<Outcome<T>> {
  const done: T[] = [];
  const failed: { row: T; error: ApiError }[] = [];
  const waiting = rows.values();
  const worker = async () => {
    for (const row of waiting) {
      try {
        await operation(row);
        done.push(row);
      } catch (error) {
        failed.push({ row, error: asApiError(error) });
      }
      onProgress(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { done, failed };
}
