import { AppError } from '../../platform/errors.ts';
import type { FoundResult, SessionResults } from '../tool.ts';

const SHORT_ID = /^r\d+$/;

/** Document that an argument names, and the result by which it names it; null if it is the id of a document. */
export interface NamedDocument {
  readonly documentId: string;
  readonly found: FoundResult | null;
}

/**
 * Find the document of an argument: a short or full id of a result of this session, or the id of a document.
 *
 * @throws AppError `result_unknown` (404)
 */
export function resolveDocument(results: SessionResults, id: string): NamedDocument {
  const found = results.find(id);
  if (found !== null) return { documentId: found.result.document_id, found };
  if (!SHORT_ID.test(id)) return { documentId: id, found: null };
  throw new AppError({
    code: 'result_unknown',
    status: 404,
    message: `id: "${id}" is not a result of this session, or is older than an hour; search again and use an id of the new results`,
    param: 'id',
  });
}
