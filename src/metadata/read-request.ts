import { userKeyFault } from '../documents/user-metadata.ts';
import { invalidRequest } from '../platform/errors.ts';
import { type BulkEdit, type DocumentEdit, LIMIT_DEFAULT } from './schema.ts';
import { adviseOn } from './statement/advice.ts';
import { isField } from './statement/fields.ts';
import { parseStatement, STATEMENT_LIMITS } from './statement/parser.ts';
import { readEdit } from './statement/read-edit.ts';
import type { Condition, Statement, Subject } from './statement/syntax.ts';

/** Bulk request, by statement or by fields. */
export interface BulkRequest {
  readonly kind: 'select' | 'edit' | 'harddelete';
  readonly where: Condition | null;
  readonly edit: DocumentEdit;
  readonly limit: number;
  /** Text of the statement; null for a request by fields. */
  readonly statement: string | null;
  /** True to change nothing: as requested, or because a request by fields selects every document. */
  readonly isPreview: boolean;
  readonly advice: readonly string[];
}

/** Advice for a request by fields without `where`, which would change every document. */
const PREVIEWED =
  'nothing was changed: a request without where is a preview; select documents by document_ids, where or a statement';

/** @throws AppError `statement_invalid`, `invalid_request` (400) */
export function readBulkRequest(request: BulkEdit): BulkRequest {
  if (request.statement !== undefined) {
    if (request.document_ids === undefined) return readStatement(parseStatement(request.statement), request);
    throw invalidRequest('document_ids: cannot be combined with a statement; write WHERE id IN (…)', 'document_ids');
  }
  const selectsAll = Object.keys(request.where ?? {}).length === 0 && request.document_ids === undefined;
  const { metadata, searchable, privacy_level, classification, review_status, public_accessible, access } = request;
  return {
    kind: 'edit',
    where: selectsAll ? null : readWhere(request),
    edit: { metadata, searchable, privacy_level, classification, review_status, public_accessible, access },
    limit: request.limit ?? LIMIT_DEFAULT,
    statement: null,
    isPreview: request.dry_run || selectsAll,
    advice: selectsAll && !request.dry_run ? [PREVIEWED] : [],
  };
}

function readStatement(statement: Statement, request: BulkEdit): BulkRequest {
  const limits = [request.limit, statement.limit].filter((limit) => typeof limit === 'number');
  const common = {
    where: statement.where,
    limit: limits.length === 0 ? LIMIT_DEFAULT : Math.min(...limits),
    statement: statement.source,
    isPreview: request.dry_run,
    advice: adviseOn(statement),
  };
  switch (statement.kind) {
    case 'update':
      return { kind: 'edit', edit: readEdit(statement), ...common };
    case 'softdelete':
      return { kind: 'edit', edit: { searchable: false }, ...common };
    default:
      return { kind: statement.kind, edit: {}, ...common };
  }
}

function readWhere({ where = {}, document_ids: ids }: BulkEdit): Condition {
  const entries = Object.entries(where);
  if (entries.length > STATEMENT_LIMITS.conditions)
    throw invalidRequest(`where: has more than ${STATEMENT_LIMITS.conditions} keys`, 'where');
  const parts = entries.map(([name, value]): Condition => {
    const subject = subjectOf(name);
    if (value === null) return { kind: 'is null', subject, negated: false };
    const text = String(value);
    if (!text.isWellFormed()) throw invalidRequest(`where.${name}: must be well-formed text`, `where.${name}`);
    return { kind: 'compare', subject, operator: '=', value: { kind: 'string', text } };
  });
  return { kind: 'and', parts: ids === undefined ? parts : [...parts, isOneOf(ids)] };
}

function isOneOf(ids: readonly string[]): Condition {
  if (!ids.every((id) => id.isWellFormed())) throw invalidRequest('document_ids: must be well-formed', 'document_ids');
  const values = ids.map((text) => ({ kind: 'string', text }) as const);
  return { kind: 'in', subject: { kind: 'field', name: 'id' }, values, negated: false };
}

function subjectOf(name: string): Subject {
  if (isField(name)) return { kind: 'field', name };
  const fault = userKeyFault(name);
  if (fault !== null) throw invalidRequest(`where: "${name.slice(0, 80)}": ${fault}`, 'where');
  return { kind: 'user', name };
}
