import type { Embedding } from '../embedding/open-embedding.ts';
import type { ReadingContext } from '../ingest/each-chunk.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { SearchContext } from '../search/search.ts';
import type { Meter } from '../usage/meter.ts';
import type { AnswerContext } from './answer-question.ts';
import { deleteExpiredAnswers } from './answer-store.ts';
import { openAnswerSlots } from './gather-passages.ts';

const ROWS_SWEPT_MAX = 10_000;

/** Question answering with the configured chat model, if there is one. */
export interface Answers extends AnswerContext {
  readonly chores: (everyMs: number) => readonly Chore[];
  close(): Promise<void>;
}

/** Open question answering. Load the slow vendor client only if a chat model is configured. */
export async function openAnswers(context: {
  readonly config: Pick<Config, 'answers'>;
  readonly sql: Sql;
  readonly logger: Logger;
  readonly embedding: Pick<Embedding, 'upstreamMetrics'>;
  readonly search: SearchContext;
  readonly reading: ReadingContext;
  readonly meter: Meter;
}): Promise<Answers> {
  const { config, sql, logger, embedding, search, reading, meter } = context;
  const chat = config.answers && (await openChat(config.answers, logger, embedding));
  return {
    sql,
    search,
    reading,
    meter,
    chat,
    slots: openAnswerSlots(),
    chores: (everyMs) => [
      { name: 'removal of old answers', everyMs, run: () => deleteExpiredAnswers(sql, ROWS_SWEPT_MAX) },
    ],
    async close() {
      await chat?.model.close();
    },
  };
}

async function openChat(
  settings: NonNullable<Config['answers']>,
  logger: Logger,
  { upstreamMetrics }: Pick<Embedding, 'upstreamMetrics'>,
) {
  const { VendorChatModel } = await import('./models/vendor-chat-model.ts');
  return { settings, model: new VendorChatModel(settings, logger, upstreamMetrics) };
}
