import type { Caller } from '../access/caller.ts';
import { hiddenAmong } from '../documents/hidden-among.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Answer } from './schema.ts';

/** Keep an answer for the caller who asked. Answers are not shared. */
export async function insertAnswer(sql: Sql, caller: Caller, answer: Answer, keptMs: number): Promise<void> {
  const documentIds = [...new Set(answer.passages.map(({ document_id: id }) => id))];
  await sql`
    INSERT INTO answers (id, org_id, actor, answer, document_ids, expires_at)
    VALUES (${answer.id}, ${caller.orgId}, ${caller.actor}, ${sql.json(answer)}, ${sql.array(documentIds)}::text[],
            now() + ${keptMs} * interval '1 millisecond')`;
}

/** Select an answer of the caller; null if there is none, or if the caller may not read one of its documents now. */
export async function selectAnswer(sql: Sql, caller: Caller, id: string): Promise<Answer | null> {
  const [row] = await sql<{ answer: Answer }[]>`
    SELECT answer FROM answers
    WHERE id = ${id} AND org_id = ${caller.orgId} AND actor = ${caller.actor} AND expires_at > now()
      AND NOT ${hiddenAmong(sql, caller, sql`answers.document_ids`)}`;
  return row?.answer ?? null;
}

/** Delete the answers that show one of these documents. */
export async function eraseAnswersAbout(tx: Sql, orgId: string, documentIds: readonly string[]): Promise<void> {
  await tx`DELETE FROM answers WHERE org_id = ${orgId} AND document_ids && ${tx.array([...documentIds])}::text[]`;
}

/** Delete at most `rowsMax` answers whose time is over. */
export async function deleteExpiredAnswers(sql: Sql, rowsMax: number): Promise<void> {
  await sql`
    DELETE FROM answers WHERE id IN (SELECT id FROM answers WHERE expires_at <= now() ORDER BY expires_at LIMIT ${rowsMax})`;
}
