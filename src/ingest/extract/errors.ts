import type { ErrorCategory } from '../../jobs/schema.ts';

/** The part of the job error categories that reading a document can end in. */
export type ExtractCategory = Extract<
  ErrorCategory,
  | 'unsupported_type'
  | 'encrypted'
  | 'corrupt'
  | 'too_large'
  | 'timeout'
  | 'out_of_memory'
  | 'upstream_rejected'
  | 'internal'
>;

/** What can be wrong with one part of a document, such as an attachment, while the others are read. */
export const PART_CATEGORIES = [
  'unsupported_type',
  'encrypted',
  'corrupt',
  'too_large',
  'timeout',
  'upstream_rejected',
] as const satisfies readonly ExtractCategory[];
export type PartCategory = (typeof PART_CATEGORIES)[number];

export function isPartCategory(category: ExtractCategory): category is PartCategory {
  return (PART_CATEGORIES as readonly ExtractCategory[]).includes(category);
}

/** Only these may go better next time: a slow host, a child that died for a reason of ours. */
const RETRYABLE: ReadonlySet<ExtractCategory> = new Set(['timeout', 'internal']);

/**
 * A document that could not be read. `message` is safe to show to the uploader: it never holds a path or a stack.
 * Recognise it by `category`.
 */
export class ExtractError extends Error {
  override readonly name = 'ExtractError';
  readonly category: ExtractCategory;
  readonly retryable: boolean;

  constructor(category: ExtractCategory, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.category = category;
    this.retryable = RETRYABLE.has(category);
  }
}

/** A document ran out of memory while its pictures were decoded, too: its text alone may fit. */
export class PicturesDoNotFit extends ExtractError {
  constructor({ category, message, cause }: ExtractError) {
    super(category, message, cause);
  }
}

/** V8 reports a buffer or string that does not fit and an exhausted stack alike as RangeError: only the words differ. */
export function isOutOfMemory(message: string): boolean {
  return /allocation failed|Invalid (?:string|array|typed array) length/i.test(message);
}

export function outOfMemory(cause?: unknown): ExtractError {
  return new ExtractError('out_of_memory', 'reading the document takes more memory than is allowed', cause);
}

/** The object store gave more or fewer bytes than the document's record says. */
export function wrongSize(): ExtractError {
  return new ExtractError('internal', 'the stored file does not have the size that was recorded');
}

/** Reading went past its deadline. */
export function tooSlow(deadlineMs: number): ExtractError {
  return new ExtractError('timeout', `reading the document took longer than ${Math.ceil(deadlineMs / 1000)} s`);
}
