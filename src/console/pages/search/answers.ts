import { type ApiError, call, pathOf } from '../../lib/api.ts';
import { asApiError } from '../../lib/resource.ts';
import type { SearchResponse } from '../../types.ts';
import { bodyOf, type Mode, type SearchForm } from './search-form.ts';

/** Response of one mode, or the reason why it is missing. */
export interface Answer {
  readonly mode: Mode;
  readonly response: SearchResponse | null;
  readonly error: ApiError | null;
  readonly ms: number;
}

/** Search in the chosen modes. */
export async function searchAll(form: SearchForm, signal: AbortSignal): Promise<readonly Answer[]> {
  return Promise.all(form.modes.map((mode) => searchOnce(form, mode, signal)));
}

async function searchOnce(form: SearchForm, mode: Mode, signal: AbortSignal): Promise<Answer> {
  const beganMs = performance.now();
  const path = pathOf('v2', 'buckets', form.bucket, 'search');
  try {
    const response = await call<SearchResponse>(path, { method: 'POST', json: bodyOf(form, mode), signal });
    return { mode, response, error: null, ms: performance.now() - beganMs };
  } catch (error) {
    if (signal.aborted) throw error;
    return { mode, response: null, error: asApiError(error), ms: performance.now() - beganMs };
  }
}
