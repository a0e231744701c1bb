import type { z } from 'zod';
import { type AppError, invalidRequest } from '../src/platform/errors.ts';
import { mostTelling, PARSE_OPTIONS, placeOf } from '../src/platform/zod-faults.ts';
import { parseWithNulls } from '../src/platform/zod-nulls.ts';

const FAULTS_SHOWN_MAX = 3;

/**
 * Parse `value` with `schema`. An optional field may also be null.
 * @returns the schema's output (defaults filled in, transforms applied)
 * @throws AppError `invalid_request` (400): the first faults as `path: fault`; `param` is the first path
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = parseWithNulls(schema, value, PARSE_OPTIONS);
  if (parsed.success) return parsed.data;
  throw faultOf(parsed.error.issues);
}

function faultOf(issues: readonly z.core.$ZodIssue[]): AppError {
  const shown: string[] = [];
  let param: string | null = null;
  for (const issue of issues.slice(0, FAULTS_SHOWN_MAX)) {
    const { path, message } = mostTelling(issue);
    const place = placeOf(path);
    param ??= place;
    const text = place === null ? message : `${place}: ${message}`;
    if (!shown.includes(text)) shown.push(text);
  }
  if (issues.length > FAULTS_SHOWN_MAX) shown.push(`and ${issues.length - FAULTS_SHOWN_MAX} more`);
  return invalidRequest(shown.join('; '), param);
}
