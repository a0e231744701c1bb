import { type ApiError, call, pathOf } from '../../lib/api.ts';
import { asApiError } from '../../lib/resource.ts';
import type { SearchResponse } from '../../types.ts';
import { bodyOf, MODES, type Mode, type SearchForm } from './search-form.ts';

/** Answer of one mode, or why there is none. */
export interface Answer {
  readonly mode: Mode;
  readonly response: SearchResponse | null;
  readonly error: ApiError | null;
  readonly ms: number;
}

/** Results that are asked for to find the rank of a result in each leg. */
const LEG_RESULTS = 100;

/** Search in the chosen modes, and in both legs for the ranks. */
export async function searchAll(form: SearchForm, signal: AbortSignal): Promise<readonly Answer[]> {
  const isHybrid = form.modes.includes('hybrid');
  const modes = MODES.filter((mode) => isHybrid || form.modes.includes(mode));
  return Promise.all(modes.map((mode) => searchOnce(form, mode, signal)));
}

async function searchOnce(form: SearchForm, mode: Mode, signal: AbortSignal): Promise<Answer> {
  const beganMs = performance.now();
  const path = pathOf('v2', 'buckets', form.bucket, 'search');
  const isLegOnly = !form.modes.includes(mode);
  const json = bodyOf(isLegOnly ? { ...form, topK: LEG_RESULTS, rerank: false } : form, mode);
  try {
    const response = await call<SearchResponse>(path, { method: 'POST', json, signal });
    return { mode, response, error: null, ms: performance.now() - beganMs };
  } catch (error) {
    if (signal.aborted) throw error;
    return { mode, response: null, error: asApiError(error), ms: performance.now() - beganMs };
  }
}

/** Ranks of a chunk in the legs, from 1; null: it is not among their first results. */
export interface LegRanks {
  readonly vector: number | null;
  readonly keyword: number | null;
}

/** Find the ranks of a chunk. */
export function ranksOf(chunkId: string, answers: readonly Answer[]): LegRanks {
  const rankIn = (mode: Mode) => {
    const results = answers.find((answer) => answer.mode === mode)?.response?.results ?? [];
    const at = results.findIndex(({ id }) => id === chunkId);
    return at === -1 ? null : at + 1;
  };
  return { vector: rankIn('vector'), keyword: rankIn('keyword') };
}
