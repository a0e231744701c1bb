import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { PageQuery } from './schema.ts';

/** Order of a page in SQL, and the way to put its rows into the order of the query. */
export interface PageOrder {
  /** Condition on the ids of the page, and the clauses after all conditions. */
  readonly condition: SqlFragment;
  readonly clauses: SqlFragment;
  /** True if the rows come in the opposite order: those before an id are read from that id on. */
  readonly isReversed: boolean;
}

/**
 * Read one row more than the limit of a query, by ids, which sort by their time of creation.
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
