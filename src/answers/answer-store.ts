import type { Caller } from '../access/caller.ts';
import { hiddenAmong } from '../documents/hidden-among-store.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Answer, RatedAnswer, RatingRequest } from './schema.ts';

/** Insert an answer for the caller who asked. Other callers can't read it. */
export async function insertAnswer(sql: Sql, caller: Caller, answer: Answer, keptMs: number): Promise<void> {
  const documentIds = [...new Set(answer.passages.map(({ document_id: id }) => id))];
  await sql`
    INSERT INTO answers (id, org_id, actor, answer, document_ids, expires_at)
    VALUES (${answer.id}, ${caller.orgId}, ${caller.actor}, ${sql.json(answer)}, ${sql.array(documentIds)}::text[],
            now() + ${keptMs} * interval '1 millisecond')`;
}

/** Select an answer of the caller. Return null if there is none, or if one of its documents is now hidden. */
export async function selectAnswer(sql: Sql, caller: Caller, id: string): Promise<Answer | null> {
  const [row] = await sql<{ answer: Answer }[]>`
    SELECT answer FROM answers
    WHERE id = ${id} AND org_id = ${caller.orgId} AND actor = ${caller.actor} AND expires_at > now()
      AND NOT ${hiddenAmong(sql, caller, sql`answers.document_ids`)}`;
  return row?.answer ?? null;
}

/**
 * Rate an answer of the caller.
 *
 * @returns id of its search in the search log, if logged; null if the answer is not stored or if the caller may no
 *   longer read its documents
 */
export async function rateAnswer(
  sql: Sql,
  caller: Caller,
  id: string,
  rated: RatingRequest,
): Promise<{ readonly searchId: string | null } | null> {
  const [row] = await sql<{ searchId: string | null }[]>`
    UPDATE answers SET rating = ${rated.rating}, reason = ${rated.reason || null}, rated_at = now()
    WHERE id = ${id} AND org_id = ${caller.orgId} AND actor = ${caller.actor} AND expires_at > now()
      AND NOT ${hiddenAmong(sql, caller, sql`answers.document_ids`)}
    RETURNING answer->>'search_id' AS "searchId"`;
  return row ?? null;
}

/** Select rated answers of the organization whose documents the caller may read, latest rating first. */
export async function selectRated(
  sql: Sql,
  caller: Caller,
  { rating, limit }: { readonly rating?: 'up' | 'down' | undefined; readonly limit: number },
): Promise<RatedAnswer[]> {
  const rows = await sql<(Pick<RatedAnswer, 'id' | 'rating' | 'reason'> & { ratedAt: Date; answer: Answer })[]>`
    SELECT id, rating, reason, rated_at AS "ratedAt", answer FROM answers
    WHERE org_id = ${caller.orgId} AND rating IS NOT NULL AND expires_at > now()
      ${rating === undefined ? sql`` : sql`AND rating = ${rating}`}
      AND NOT ${hiddenAmong(sql, caller, sql`answers.document_ids`)}
    ORDER BY rated_at DESC LIMIT ${limit}`;
  return rows.map(({ ratedAt, answer: { status, query, searched, answer, model }, ...rated }) => ({
    ...rated,
    rated_at: ratedAt.toISOString(),
    status,
    query,
    searched,
    answer,
    model,
  }));
}

/** Delete the answers that quote one of these documents. */
export async function eraseAnswersAbout(tx: Sql, orgId: string, documentIds: readonly string[]): Promise<void> {
  await tx`DELETE FROM answers WHERE org_id = ${orgId} AND document_ids && ${tx.array([...documentIds])}::text[]`;
}

/** Delete at most `rowsMax` expired answers. */
export async function deleteExpiredAnswers(sql: Sql, rowsMax: number): Promise<void> {
  await sql`
    DELETE FROM answers WHERE id IN (SELECT id FROM answers WHERE expires_at <= now() ORDER BY expires_at LIMIT ${rowsMax})`;
}
