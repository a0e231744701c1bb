import type { Caller } from '../access/caller.ts';
import { requireModelAllowed } from '../access/key-limits.ts';
import { detectByScript } from '../language/detect-language.ts';
import type { AnswerSettings } from '../platform/answer-settings.ts';
import { AppError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { providerUnavailable } from '../platform/upstream/upstream-errors.ts';
import { runForOrganization } from '../platform/work-context.ts';
import type { Meter, Reservation } from '../usage/meter.ts';
import { AnswerFailure, answersNotSet } from './answer-errors.ts';
import { insertAnswer } from './answer-store.ts';
import type { Assistant } from './assistant-schema.ts';
import { findAssistant } from './assistants.ts';
import { ChatTally } from './chat-tally.ts';
import { CitedText, sentencesOf } from './cited-text.ts';
import { type GatherContext, gatherPassages } from './gather-passages.ts';
import type { ChatModel, EndReason } from './models/chat-model.ts';
import { answerMessages, type Instructions } from './prompt.ts';
import type { Answer, AnswerEvent, AnswerRequest, AnswerStart, AnswerStatus, HistoryMessage } from './schema.ts';
import { latestMessages, standaloneQuestion } from './standalone-question.ts';

const TOP_K_DEFAULT = 10;
const NOTHING = {
  en: 'Nothing in these documents answers this question.',
  ko: '이 문서들에는 이 질문에 대한 답이 없습니다.',
};
const STATUSES: Readonly<Record<EndReason, AnswerStatus>> = {
  stop: 'answered',
  length: 'cut_off',
  refusal: 'refused',
};

export interface AnswerContext extends GatherContext {
  readonly sql: Sql;
  /** Configured chat model with its limits, or null. */
  readonly chat: { readonly model: ChatModel; readonly settings: AnswerSettings } | null;
  readonly meter: Pick<Meter, 'reserve'>;
}

/** Question and its context. */
export interface Asked
  extends Pick<AnswerRequest, 'query' | 'buckets' | 'assistant' | 'history' | 'filter' | 'top_k' | 'style'> {
  /** Base URL of this service for links; null if unknown. */
  readonly origin: string | null;
  /** Instructions from the client, appended to the rules of the answer. */
  readonly prompt?: string | undefined;
  /** Collection to search; only with a single bucket. */
  readonly collection?: string | undefined;
}

/**
 * Answer a question from passages that the caller may read: search, ask the model, and check its citations. Yield the
 * passages, the text as the model writes it, and the complete answer. Stopping the iteration cancels the model's call.
 *
 * @throws AppError `answers_not_set` (409), `bucket_not_found`, `assistant_not_found` (404), `quota_exceeded` (402),
 *   `model_not_allowed` (403); AnswerFailure if the model fails before its first output; the reason of the signal
 */
export async function* answerQuestion(
  context: AnswerContext,
  caller: Caller,
  asked: Asked,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent, void> {
  const { chat } = context;
  if (chat === null) throw answersNotSet();
  requireModelAllowed(caller.limits, chat.model.id);
  const scope = await scopeOf(context.sql, caller, asked);
  const reservation = await context.meter.reserve(caller, 'answers', 1);
  const tally = new ChatTally();
  try {
    yield* inOrganization(caller.orgId, answerInScope({ ...context, chat, tally }, caller, asked, scope, signal));
  } finally {
    await settle(reservation, tally, chat.model.id);
  }
}

/** Consume the events and return the complete answer. @throws the errors of `answerQuestion` */
export async function wholeAnswer(events: AsyncIterable<AnswerEvent>): Promise<Answer> {
  for await (const event of events) if (event.kind === 'end') return event.answer;
  throw new TypeError('an answer has an end');
}

/** Charge the tokens of an answer, or release the reservation if the model used none. */
function settle(reservation: Reservation, { input, output }: ChatTally, model: string): Promise<void> | void {
  if (input + output === 0) return reservation.release();
  reservation.settle([{ model, texts: 1, tokens: input, outputTokens: output }]);
}

/** Run a generator on behalf of an organization, so that its calls take turns with those of other organizations. */
async function* inOrganization<T>(orgId: string, events: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  try {
    for (;;) {
      const { done, value } = await runForOrganization(orgId, () => events.next());
      if (done) return;
      yield value;
    }
  } finally {
    await events.return();
  }
}

/** Buckets and filter of a search, and the rules of its answer. */
interface Scope {
  readonly buckets: readonly string[];
  readonly filter: Assistant['definition']['filter'];
  readonly topK: number;
  readonly instructions: Instructions;
}

async function scopeOf(sql: Sql, caller: Caller, asked: Asked): Promise<Scope> {
  const { style, filter, prompt = null } = asked;
  if (asked.assistant === undefined) {
    const instructions = { style, language: null, prompt };
    return { buckets: asked.buckets ?? [], filter, topK: asked.top_k ?? TOP_K_DEFAULT, instructions };
  }
  const { definition } = await findAssistant(sql, caller, asked.assistant);
  const prompts = [definition.prompt, prompt].filter((text) => text !== null && text !== undefined);
  return {
    buckets: definition.buckets,
    filter: allOf(definition.filter, filter),
    topK: asked.top_k ?? definition.top_k ?? TOP_K_DEFAULT,
    instructions: {
      style,
      language: definition.language ?? null,
      prompt: prompts.length === 0 ? null : prompts.join('\n'),
    },
  };
}

/** Combine the filters of an assistant and of a question with AND, so that a question can't widen the search. */
function allOf(own: Scope['filter'], other: Scope['filter']): Scope['filter'] {
  if (own === undefined || other === undefined) return own ?? other;
  return { type: 'and', filters: [own, other] };
}

interface Answering extends GatherContext {
  readonly sql: Sql;
  readonly chat: NonNullable<AnswerContext['chat']>;
  readonly tally: ChatTally;
}

async function* answerInScope(
  context: Answering,
  caller: Caller,
  asked: Asked,
  scope: Scope,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent, void> {
  const { chat, tally } = context;
  const history = latestMessages(asked.history);
  const cut =
    history.length < asked.history.length ? ['the history is too long; its oldest messages were left out'] : [];
  const { searched, warnings } = await standaloneQuestion(chat.model, asked.query, history, tally, signal);
  const tokensMax = chat.settings.passageTokensMax;
  const { origin, collection } = asked;
  const request = { ...scope, query: searched, tokensMax, origin, collection };
  const gathered = await gatherPassages(context, caller, request, signal);
  const start: AnswerStart = {
    id: newId('ans'),
    searched,
    ...gathered,
    warnings: [...cut, ...warnings, ...gathered.warnings],
  };
  yield { kind: 'passages', start };
  const make = (status: AnswerStatus, text: CitedText | string) => toAnswer(context, { asked, start, status, text });
  if (gathered.relevance === 'none' || gathered.passages.length === 0) {
    const nothing = NOTHING[detectByScript(asked.query).language === 'ko' ? 'ko' : 'en'];
    yield { kind: 'text', text: nothing };
    yield { kind: 'end', answer: make('nothing_found', nothing) };
    return;
  }
  const text = new CitedText(gathered.passages.length);
  const status = yield* write(context, { asked, start, history, scope, text }, signal);
  yield { kind: 'end', answer: await kept(context, caller, make(status, text)) };
}

interface Writing {
  readonly asked: Asked;
  readonly start: AnswerStart;
  readonly history: readonly HistoryMessage[];
  readonly scope: Scope;
  readonly text: CitedText;
}

/** Stream the model's text. @returns how the answer ended */
async function* write(
  { chat, tally }: Answering,
  { start, history, scope, text }: Writing,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent, AnswerStatus> {
  const messages = answerMessages(start.searched, start.passages, history, scope.instructions);
  const task = { messages, outputTokensMax: chat.settings.outputTokensMax };
  let status: AnswerStatus = 'interrupted';
  try {
    for await (const part of tally.count(task, chat.model.ask(task, signal))) {
      if (part.kind === 'end') status = STATUSES[part.reason];
      const shown = part.kind === 'text' ? text.add(part.text) : text.end();
      if (shown !== '') yield { kind: 'text', text: shown };
    }
    if (text.text === '' && status !== 'refused') throw providerUnavailable(chat.model.id, 'empty_answer', 'no word');
    return status;
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error;
    const rest = text.end();
    if (text.text === '') throw new AnswerFailure(start, error);
    if (rest !== '') yield { kind: 'text', text: rest };
    return error.details?.['cause'] === 'timeout' ? 'timed_out' : 'interrupted';
  }
}

function toAnswer(
  { chat, tally }: Answering,
  made: { asked: Asked; start: AnswerStart; status: AnswerStatus; text: CitedText | string },
): Answer {
  const { asked, start, status, text } = made;
  const answer = typeof text === 'string' ? text : text.text;
  return {
    ...start,
    object: 'answer',
    created_at: new Date().toISOString(),
    status,
    query: asked.query,
    answer,
    sentences: typeof text === 'string' ? [] : sentencesOf(answer),
    dropped_citations: typeof text === 'string' ? 0 : text.dropped,
    model: chat.model.id,
    usage: { input_tokens: tally.input, output_tokens: tally.output },
    kept_until: null,
  };
}

/** Store an answer for the configured time. */
async function kept({ sql, chat }: Answering, caller: Caller, answer: Answer): Promise<Answer> {
  const { keptMs } = chat.settings;
  if (keptMs === 0) return answer;
  const own = { ...answer, kept_until: new Date(Date.now() + keptMs).toISOString() };
  await insertAnswer(sql, caller, own, keptMs);
  return own;
}
