import { hash } from 'node:crypto';
import type { Model } from '../../models/catalog.ts';
import type { TaskType } from '../../models/task-types.ts';

/** Vector of a text, with its token cost. Do not modify it. */
export interface CachedVector {
  /** Float32Array [model.nativeDimension], L2-normalised */
  readonly vector: Float32Array;
  readonly tokens: number;
}

/** Length of a key: a whole SHA-256 in base64url. */
export const CACHE_KEY_CHARS = 43;

/**
 * Compute one key per text: SHA-256, in base64url, of everything that a vector depends on, ending with the text. The
 * rest precedes it as a JSON array, which ends unambiguously, so that different inputs never give the same bytes. The
 * hash covers UTF-16 code units because UTF-8 would turn every lone surrogate into U+FFFD and give them the same key.
 */
export function cacheKeys(model: Model, taskType: TaskType | null, texts: readonly string[]): string[] {
  const { id, revision, upstreamDimensions, nativeDimension } = model;
  const scope = JSON.stringify([id, revision, taskType, upstreamDimensions, nativeDimension]);
  return texts.map((text) => hash('sha256', Buffer.from(scope + text, 'utf16le'), 'base64url'));
}
