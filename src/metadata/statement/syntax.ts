import type { FieldName } from './fields.ts';

/** Field or user key tested by a condition. */
export type Subject =
  | { readonly kind: 'field'; readonly name: FieldName }
  | { readonly kind: 'user'; readonly name: string };

export type Value =
  | { readonly kind: 'string'; readonly text: string }
  /** Number in its stored form: `12`, `0.5`, `1e+21`. */
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'boolean'; readonly text: 'true' | 'false' }
  | { readonly kind: 'null' };

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Condition with at most 20 levels and 50 leaves. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | {
      readonly kind: 'compare';
      readonly subject: Subject;
      readonly operator: ComparisonOperator;
      readonly value: Value;
    }
  | { readonly kind: 'in'; readonly subject: Subject; readonly negated: boolean; readonly values: readonly Value[] }
  | { readonly kind: 'like'; readonly subject: Subject; readonly negated: boolean; readonly pattern: string }
  | { readonly kind: 'is null'; readonly subject: Subject; readonly negated: boolean };

export interface Assignment {
  /** Bare name of a settable field, or a user key. */
  readonly target: Subject;
  readonly value: Value;
  readonly valueAt: number;
}

/** Statement with resolved keys and with values in their stored form. */
export type Statement = {
  /** Original text, for the audit log and messages, but never for SQL. */
  readonly source: string;
  readonly limit: number | null;
} & (
  | { readonly kind: 'select'; readonly where: Condition | null }
  | { readonly kind: 'update'; readonly assignments: readonly Assignment[]; readonly where: Condition }
  | { readonly kind: 'softdelete' | 'harddelete'; readonly where: Condition }
);
