import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { PageQuery } from './schema.ts';

/** SQL order of a page, and how to restore the order of the query. */
export interface PageOrder {
  /** Condition on the page's ids, and the clauses that follow all conditions. */
  readonly condition: SqlFragment;
  readonly clauses: SqlFragment;
  /** True if the rows arrive reversed: the page before an id is read backwards from it. */
  readonly isReversed: boolean;
}

/**
 * Build the clauses that read a page by ids, which sort by creation time: one row more than the query's limit.
 * @param id column of the ids
 */
export function pageOrder(sql: Sql, id: SqlFragment, { order, limit, after, before }: PageQuery): PageOrder {
  const isReversed = before !== undefined && after === undefined;
  const isDown = (order === 'desc') !== isReversed;
  const [follows, precedes] = order === 'desc' ? [sql`<`, sql`>`] : [sql`>`, sql`<`];
  return {
    condition: sql`
      ${after === undefined ? sql`true` : sql`${id} ${follows} ${after}`}
      AND ${before === undefined ? sql`true` : sql`${id} ${precedes} ${before}`}`,
    clauses: sql`ORDER BY ${id} ${isDown ? sql`DESC` : sql`ASC`} LIMIT ${limit + 1}`,
    isReversed,
  };
}
