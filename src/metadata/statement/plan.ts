import { DECIMAL_TEXT } from '../../documents/decimal-text.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import { FIELDS } from './fields.ts';
import { narrow } from './narrow.ts';
import type { ComparisonOperator, Condition, Subject, Value } from './syntax.ts';

/**
 * Translate a statement's condition into a condition on a row of `documents`, narrowed by the index of document terms
 * if possible. Every key and value is a parameter.
 */
export function matchSql(sql: Sql, bucketId: string, condition: Condition): SqlFragment {
  const terms = narrow(bucketId, condition);
  const exact = conditionSql(sql, condition);
  return terms === null ? exact : sql`${termsSql(sql)} @@ ${terms}::tsquery AND ${exact}`;
}

/** Translate a condition for a few documents with known ids, without using the index. */
export function exactMatchSql(sql: Sql, condition: Condition): SqlFragment {
  return conditionSql(sql, condition);
}

/** Return true if the index finds the matches of a condition without reading every document of the bucket. */
export function isNarrowed(condition: Condition): boolean {
  return narrow('', condition) !== null;
}

/** Build the expression of the index `documents_by_term`, exactly as defined in the index. */
function termsSql(sql: Sql): SqlFragment {
  return sql`document_terms(
    documents.bucket_id, documents.id, documents.file_name, documents.file_type, documents.collection_id,
    documents.searchable, documents.status, documents.privacy_level, documents.internal_accessible,
    documents.public_accessible, documents.classification, documents.review_status, documents.owner_department,
    documents.scope, documents.uploaded_by_user_id, documents.metadata)`;
}

/**
 * Translate a condition into SQL's three-valued logic. Compare the text form of a subject, or NULL if it is missing.
 * Equality, lists and LIKE compare text. Order compares numbers if both sides are numbers, otherwise code points.
 */
function conditionSql(sql: Sql, condition: Condition): SqlFragment {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return joined(sql, condition.kind, condition.parts);
    case 'not':
      return sql`(NOT ${conditionSql(sql, condition.part)})`;
    case 'compare':
      return comparison(sql, condition.subject, condition.operator, condition.value);
    case 'in': {
      const texts = condition.values.map((value) => (value.kind === 'null' ? null : value.text));
      const found = sql`${textOf(sql, condition.subject)} = ANY(${sql.array(texts)}::text[])`;
      return condition.negated ? sql`(NOT (${found}))` : sql`(${found})`;
    }
    case 'like': {
      const text = textOf(sql, condition.subject);
      return condition.negated
        ? sql`(${text} NOT LIKE ${condition.pattern}::text)`
        : sql`(${text} LIKE ${condition.pattern}::text)`;
    }
    case 'is null': {
      const text = textOf(sql, condition.subject);
      return condition.negated ? sql`(${text} IS NOT NULL)` : sql`(${text} IS NULL)`;
    }
  }
}

function joined(sql: Sql, kind: 'and' | 'or', parts: readonly Condition[]): SqlFragment {
  const [first, ...rest] = parts.map((part) => conditionSql(sql, part)) as [SqlFragment, ...SqlFragment[]];
  const all = rest.reduce(
    (left, right) => (kind === 'and' ? sql`${left} AND ${right}` : sql`${left} OR ${right}`),
    first,
  );
  return sql`(${all})`;
}

function comparison(sql: Sql, subject: Subject, operator: ComparisonOperator, value: Value): SqlFragment {
  if (value.kind === 'null') return sql`NULL::boolean`;
  const text = textOf(sql, subject);
  if (operator === '=') return sql`(${text} = ${value.text}::text)`;
  if (operator === '!=') return sql`(${text} <> ${value.text}::text)`;
  const sign = { '<': sql`<`, '<=': sql`<=`, '>': sql`>`, '>=': sql`>=` }[operator];
  const byText = sql`${text} COLLATE "C" ${sign} ${value.text}::text`;
  if (!isNumber(subject, value)) return sql`(${byText})`;
  return sql`(CASE WHEN ${text} ~ ${DECIMAL_TEXT}::text THEN (${text})::numeric ${sign} ${value.text}::numeric ELSE ${byText} END)`;
}

/**
 * Return true if a value counts as a number. Quoted text counts only for a privacy level, where "10" must follow "5".
 */
function isNumber(subject: Subject, value: Exclude<Value, { kind: 'null' }>): boolean {
  if (value.kind === 'number') return true;
  const isInteger = subject.kind === 'field' && FIELDS[subject.name] === 'integer';
  return isInteger && /^[0-9]{1,9}$/.test(value.text);
}

/** Return the text form of a subject, as shown by the API. */
function textOf(sql: Sql, subject: Subject): SqlFragment {
  if (subject.kind === 'user') return sql`(documents.metadata ->> ${subject.name}::text)`;
  if (subject.name === 'access_users') return sql`access_names(documents.access_list, 'user:')`;
  if (subject.name === 'access_groups') return sql`access_names(documents.access_list, 'group:')`;
  const column = sql`documents.${sql(subject.name)}`;
  switch (FIELDS[subject.name]) {
    case 'text':
    case 'path':
      return column;
    case 'boolean':
    case 'integer':
      return sql`${column}::text`;
    case 'time':
      return sql`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  }
}
