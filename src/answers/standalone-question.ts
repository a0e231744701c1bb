import { countTokens } from '../models/tokens.ts';
import { AppError } from '../platform/errors.ts';
import type { ChatTally } from './chat-tally.ts';
import type { ChatModel } from './models/chat-model.ts';
import { rewriteMessages } from './prompt.ts';
import { type HistoryMessage, QUESTION_CHARS_MAX } from './schema.ts';

const OUTPUT_TOKENS_MAX = 200;
/** Token budget for the earlier messages of a conversation. */
const HISTORY_TOKENS_MAX = 3_000;

/** Keep the latest messages that fit the token budget. */
export function latestMessages(history: readonly HistoryMessage[]): readonly HistoryMessage[] {
  let tokens = 0;
  const first = history.findLastIndex(({ content }) => {
    tokens += countTokens(content);
    return tokens > HISTORY_TOKENS_MAX;
  });
  return history.slice(first + 1);
}

/**
 * Rewrite a question of a conversation so that a search understands it alone. Return the question unchanged if there
 * are no earlier messages or the model fails.
 *
 * @throws the reason of the signal once it is aborted
 */
export async function standaloneQuestion(
  model: ChatModel,
  question: string,
  history: readonly HistoryMessage[],
  tally: ChatTally,
  signal: AbortSignal,
): Promise<{ searched: string; warnings: string[] }> {
  if (history.length === 0) return { searched: question, warnings: [] };
  const task = { messages: rewriteMessages(question, history), outputTokensMax: OUTPUT_TOKENS_MAX };
  let text = '';
  try {
    for await (const part of tally.count(task, model.ask(task, signal))) if (part.kind === 'text') text += part.text;
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error;
    return { searched: question, warnings: ['the question could not be rewritten, so the search used it unchanged'] };
  }
  const line = text.trim().split('\n', 1)[0]?.slice(0, QUESTION_CHARS_MAX).trim() ?? '';
  return { searched: line === '' ? question : line, warnings: [] };
}
