import type { Sql } from '../platform/postgres.ts';

/** Key of a channel configuration, for counting unanswered questions. */
interface ConfigKey {
  readonly id: string;
  readonly orgId: string;
}

/** Question that a bucket couldn't answer. */
export interface QuestionRow {
  readonly id: string;
  readonly configId: string;
  readonly askedAt: Date;
  readonly question: string;
}

/** Number of unanswered questions of a configuration. */
export interface UnansweredRow {
  readonly configId: string;
  readonly last30Days: number;
  readonly total: number;
  /** Last day with such a question, `yyyy-mm-dd` in UTC. */
  readonly lastDay: string;
}

/** Count an unanswered question. */
export async function countUnanswered(sql: Sql, config: ConfigKey): Promise<void> {
  await sql`
    INSERT INTO channel_unanswered AS counted (config_id, org_id, day, questions)
    VALUES (${config.id}, ${config.orgId}, (now() AT TIME ZONE 'UTC')::date, 1)
    ON CONFLICT (config_id, day) DO UPDATE SET questions = counted.questions + 1`;
}

export async function insertQuestion(sql: Sql, config: ConfigKey, id: string, question: string): Promise<void> {
  await sql`
    INSERT INTO channel_questions (id, config_id, org_id, asked_at, question)
    VALUES (${id}, ${config.id}, ${config.orgId}, clock_timestamp(), ${question})`;
}

/** Return an organization's counts of unanswered questions, highest first, at most `rowsMax`. */
export async function selectUnanswered(sql: Sql, orgId: string, rowsMax: number): Promise<UnansweredRow[]> {
  return sql<UnansweredRow[]>`
    SELECT config_id AS "configId", max(day)::text AS "lastDay", sum(questions)::int AS total,
           coalesce(sum(questions) FILTER (WHERE day > (now() AT TIME ZONE 'UTC')::date - 30), 0)::int AS "last30Days"
    FROM channel_unanswered WHERE org_id = ${orgId}
    GROUP BY config_id ORDER BY "last30Days" DESC, total DESC, config_id LIMIT ${rowsMax}`;
}

/** List kept questions of an organization, newest first. @param page.after id of the last one on the previous page */
export async function selectQuestions(
  sql: Sql,
  orgId: string,
  page: { readonly configId: string | undefined; readonly limit: number; readonly after: string | undefined },
): Promise<QuestionRow[]> {
  const { configId, limit, after } = page;
  return sql<QuestionRow[]>`
    SELECT id, config_id AS "configId", asked_at AS "askedAt", question FROM channel_questions
    WHERE org_id = ${orgId} ${configId === undefined ? sql`` : sql`AND config_id = ${configId}`}
      ${after === undefined ? sql`` : sql`AND (asked_at, id) < (SELECT q.asked_at, q.id FROM channel_questions q WHERE q.org_id = ${orgId} AND q.id = ${after})`}
    ORDER BY asked_at DESC, id DESC LIMIT ${limit}`;
}

/** Delete at most `rowsMax` question texts of all organizations that are older than `ageMs`. */
export async function deleteOldQuestions(sql: Sql, ageMs: number, rowsMax: number): Promise<void> {
  await sql`
    DELETE FROM channel_questions WHERE id IN (
      SELECT id FROM channel_questions WHERE asked_at <= now() - ${ageMs}::float8 * interval '1 millisecond'
      ORDER BY asked_at LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED)`;
}

/** Delete the counts of all organizations for days more than `daysMax` days ago. */
export async function deleteOldCounts(sql: Sql, daysMax: number): Promise<void> {
  await sql`DELETE FROM channel_unanswered WHERE day < (now() AT TIME ZONE 'UTC')::date - ${daysMax}::int`;
}
