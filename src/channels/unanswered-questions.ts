import { z } from 'zod';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { countUnanswered, insertQuestion, selectQuestions, selectUnanswered } from './question-store.ts';

/** Retention of the texts of unanswered questions, and of their daily counts. */
export const QUESTIONS_KEPT_MS = 30 * 24 * 3_600_000;
export const COUNTED_DAYS_MAX = 400;
const CONFIGS_MAX = 1000;

/** Function that records a question that a bucket couldn't answer. It never fails. */
export type RecordUnanswered = (channel: { id: string; orgId: string }, question: string) => Promise<void>;

/** Return the function that records unanswered questions. @param keepsTexts true to keep texts too, but no askers */
export function unansweredRecorder(
  { sql, logger }: { readonly sql: Sql; readonly logger: Logger },
  keepsTexts: boolean,
): RecordUnanswered {
  return async (channel, question) => {
    try {
      await countUnanswered(sql, channel);
      if (keepsTexts) await insertQuestion(sql, channel, newId('qst'), question);
    } catch (error) {
      logger.warn({ err: error, channel: channel.id }, 'an unanswered question was not recorded');
    }
  };
}

export const UnansweredView = z
  .object({
    channel_config_id: z.string(),
    last_30_days: z.int(),
    total: z.int().describe(`questions of the last ${COUNTED_DAYS_MAX} days`),
    last_day: z.string().describe('last day with such a question, in UTC'),
  })
  .meta({ id: 'UnansweredQuestions' });
export type UnansweredView = z.output<typeof UnansweredView>;

export const QuestionView = z
  .object({ id: z.string(), channel_config_id: z.string(), asked_at: z.iso.datetime(), question: z.string() })
  .meta({ id: 'ChannelQuestion' });
export type QuestionView = z.output<typeof QuestionView>;

/** Return the numbers of unanswered questions per configuration, highest first. */
export async function listUnanswered(sql: Sql, orgId: string): Promise<UnansweredView[]> {
  const rows = await selectUnanswered(sql, orgId, CONFIGS_MAX);
  return rows.map(({ configId, last30Days, total, lastDay }) => ({
    channel_config_id: configId,
    last_30_days: last30Days,
    total,
    last_day: lastDay,
  }));
}

/** List the kept texts of unanswered questions, newest first. */
export async function listQuestions(
  sql: Sql,
  orgId: string,
  page: { readonly configId: string | undefined; readonly limit: number; readonly after: string | undefined },
): Promise<QuestionView[]> {
  const rows = await selectQuestions(sql, orgId, page);
  return rows.map(({ id, configId, askedAt, question }) => ({
    id,
    channel_config_id: configId,
    asked_at: askedAt.toISOString(),
    question,
  }));
}
