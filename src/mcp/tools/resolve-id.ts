import { AppError } from '../../platform/errors.ts';
import type { FoundResult, SessionResults } from '../tool.ts';

const SHORT_ID = /^r\d+$/;

/** Document named by an argument, and the result that named it (null if the argument is a document id). */
export interface NamedDocument {
  readonly documentId: string;
  readonly found: FoundResult | null;
}

/**
 * Find the document of an argument: a short or full result id of this session, or a document id.
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
