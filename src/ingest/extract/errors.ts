import type { ErrorCategory } from '../../jobs/schema.ts';

/** Job error categories for extracting a document. */
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

/** Error categories of one part of a document, such as an attachment, while the other parts are read. */
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

/**
 * Categories that may succeed on a retry: a child that died for an internal reason. A document that took too much
 * processor time or memory would do so again.
 */
const RETRYABLE: ReadonlySet<ExtractCategory> = new Set(['internal']);

/**
 * Error for an unreadable document. `message` is safe to show to the uploader: it never contains a path or a stack.
 * Recognise the error by `category`.
 */
export class ExtractError extends Error {
  override readonly name = 'ExtractError';
  readonly category: ExtractCategory;
  readonly retryable: boolean;

  constructor(category: ExtractCategory, message: string, cause?: unknown, retryable = RETRYABLE.has(category)) {
    super(message, cause === undefined ? undefined : { cause });
    this.category = category;
    this.retryable = retryable;
  }
}

/** Error for a document that ran out of memory while text and pictures were decoded. Its text alone may fit. */
export class PicturesDoNotFit extends ExtractError {
  constructor({ category, message, cause }: ExtractError) {
    super(category, message, cause);
  }
}

/**
 * Return true for a failed allocation. V8 reports both this and stack exhaustion as RangeError, with different
 * messages.
 */
export function isOutOfMemory(message: string): boolean {
  return /allocation failed|Invalid (?:string|array|typed array) length/i.test(message);
}

export function outOfMemory(cause?: unknown): ExtractError {
  return new ExtractError(
    'out_of_memory',
    'reading the document takes more memory than is allowed; divide it into smaller files',
    cause,
  );
}

/** Create the error for a stored file whose size differs from the document's record. */
export function wrongSize(): ExtractError {
  return new ExtractError('internal', 'the stored file does not have the size that was recorded');
}

/** Create the error for a store that didn't deliver the file before the deadline. A later attempt may be faster. */
export function storeTooSlow(deadlineMs: number): ExtractError {
  const message = `the store did not deliver the file within ${Math.ceil(deadlineMs / 1000)} s`;
  return new ExtractError('timeout', message, undefined, true);
}

/** Create the error for a document that takes too much processor time. It would do so again. */
export function tooSlow(cpuMs: number): ExtractError {
  const message = `reading the document takes more than ${Math.ceil(cpuMs / 1000)} s of processor time`;
  return new ExtractError('timeout', message);
}

/** Create the error for a document that couldn't be read because the host was too busy. */
export function hostTooBusy(hangMs: number): ExtractError {
  const message = `reading the document made no progress for ${Math.ceil(hangMs / 1000)} s, since the host is busy`;
  return new ExtractError('timeout', message, undefined, true);
}
