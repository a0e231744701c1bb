import { boundedLine } from '../platform/printable.ts';

/** Maximum length of a stored message, since every list of jobs includes it. */
const MESSAGE_CHARS_MAX = 2_000;

/** Replacement for a failure message that PostgreSQL refused. */
export const REFUSED_MESSAGE = 'the job failed, and its message could not be stored; see the log of the worker';

/**
 * Make a failure message storable. Parts of it may come from a document or a vendor, and PostgreSQL refuses U+0000.
 * Every statement that stores a job's failure message must use this function.
 */
export function storedMessage(message: string): string {
  return boundedLine(message, MESSAGE_CHARS_MAX);
}
