import { z } from 'zod';
import { AppError, invalidRequest } from '../platform/errors.ts';
import { citedPassages, renderSources, sourceName } from './render-sources.ts';
import { type Answer, type AnswerRequest, type AnswerStatus, QUESTION_CHARS_MAX } from './schema.ts';

const MESSAGES_MAX = 500;
const CONTENT_CHARS_MAX = 100_000;
const PROMPT_CHARS_MAX = 8_000;

const TextPart = z.object({ type: z.string().max(64), text: z.string().max(CONTENT_CHARS_MAX).optional() });

const Message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z
    .union([z.string().max(CONTENT_CHARS_MAX), z.array(TextPart).max(100)])
    .nullish()
    .describe('text, or a list of parts; only parts of the type text are read'),
});
type Message = z.output<typeof Message>;

/**
 * Body of `POST /v1/chat/completions`, as of https://platform.openai.com/docs/api-reference/chat/create. Sampling
 * fields (`temperature`, `max_tokens`, …) are accepted and ignored.
 */
export const ChatCompletionRequest = z.object({
  model: z.string().min(1).max(300).describe('bucket/NAME or assistant/NAME'),
  messages: z.array(Message).min(1).max(MESSAGES_MAX).describe('the last message of the user is the question'),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().min(1).max(1).nullish().describe('only 1 is supported'),
  tools: z.array(z.unknown()).max(0, 'tools are not supported; leave them out').nullish(),
});
export type ChatCompletionRequest = z.output<typeof ChatCompletionRequest>;

const Annotation = z.object({
  type: z.literal('url_citation'),
  url_citation: z.object({
    start_index: z.int(),
    end_index: z.int(),
    url: z.string(),
    title: z.string(),
  }),
});
type Annotation = z.output<typeof Annotation>;

const Usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const FinishReason = z.enum(['stop', 'length', 'content_filter']);

export const ChatCompletion = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.int().describe('seconds since 1970'),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.literal(0),
        message: z.object({
          role: z.literal('assistant'),
          content: z.string().describe('the answer, with its sources below it'),
          refusal: z.null(),
          annotations: z.array(Annotation).describe('citations whose documents have an address'),
        }),
        logprobs: z.null(),
        finish_reason: FinishReason,
      }),
    ),
    usage: Usage,
  })
  .meta({ id: 'ChatCompletion' });
export type ChatCompletion = z.output<typeof ChatCompletion>;

/**
 * Convert a conversation to a question for a bucket or an assistant.
 *
 * @throws AppError `model_not_found` (404) for any other model, `invalid_request` (400) without a question
 */
export function questionOf({
  model,
  messages,
}: ChatCompletionRequest): Pick<AnswerRequest, 'query' | 'buckets' | 'assistant' | 'history'> & { prompt?: string } {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const query = textOf(messages[last]).trim();
  if (query === '')
    throw invalidRequest('messages: the last message of the user is the question, and has no text', 'messages');
  const history = messages.slice(0, last).flatMap((message) => {
    const { role } = message;
    const content = textOf(message);
    return (role === 'user' || role === 'assistant') && content !== '' ? [{ role, content }] : [];
  });
  const prompt = messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(textOf)
    .join('\n')
    .trim()
    .slice(0, PROMPT_CHARS_MAX);
  // Truncate a long message at its start, since the question is usually at its end.
  const question = query.slice(-QUESTION_CHARS_MAX);
  return { query: question, history, ...targetOf(model), ...(prompt === '' ? {} : { prompt }) };
}

function textOf(message: Message | undefined): string {
  const content = message?.content ?? '';
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('\n');
}

function targetOf(model: string): Pick<AnswerRequest, 'buckets' | 'assistant'> {
  const [, kind, name] = /^(bucket|assistant)\/(.+)$/su.exec(model) ?? [];
  if (kind === 'bucket') return { buckets: [name as string] };
  if (kind === 'assistant') return { assistant: name as string };
  throw modelNotFound(model);
}

/** Create OpenAI's error (404) for an unknown model. */
export function modelNotFound(model: string): AppError {
  return new AppError({
    code: 'model_not_found',
    status: 404,
    param: 'model',
    message: `no model has the name "${model.slice(0, 200)}"; the models that answer are bucket/NAME and assistant/NAME`,
  });
}

const FINISH_REASONS: Readonly<Record<AnswerStatus, z.output<typeof FinishReason>>> = {
  answered: 'stop',
  nothing_found: 'stop',
  refused: 'content_filter',
  cut_off: 'length',
  timed_out: 'length',
  interrupted: 'length',
};

/** Convert an answer to OpenAI's chat completion. */
export function toCompletion(model: string, answer: Answer): ChatCompletion {
  return {
    id: completionId(answer.id),
    object: 'chat.completion',
    created: Math.floor(Date.parse(answer.created_at) / 1000),
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.answer + renderSources(answer),
          refusal: null,
          annotations: annotationsOf(answer),
        },
        logprobs: null,
        finish_reason: FINISH_REASONS[answer.status],
      },
    ],
    usage: usageOf(answer),
  };
}

/** Chunks of a streamed completion. */
export class CompletionChunks {
  readonly #head: { readonly id: string; readonly object: string; readonly created: number; readonly model: string };
  readonly #hasUsage: boolean;

  constructor(id: string, { model, stream_options }: ChatCompletionRequest) {
    const created = Math.floor(Date.now() / 1000);
    this.#head = { id: completionId(id), object: 'chat.completion.chunk', created, model };
    this.#hasUsage = stream_options?.include_usage === true;
  }

  /** First chunk, which names the role. */
  begin(): object {
    return this.#chunk({ role: 'assistant', content: '' });
  }

  text(content: string): object {
    return this.#chunk({ content });
  }

  /** Return the last chunks: sources, annotations with the finish reason, and the usage if requested. */
  end(answer: Answer): object[] {
    const sources = renderSources(answer);
    const last = this.#chunk({ annotations: annotationsOf(answer) }, FINISH_REASONS[answer.status]);
    const usage = { ...this.#head, choices: [], usage: usageOf(answer) };
    return [...(sources === '' ? [] : [this.text(sources)]), last, ...(this.#hasUsage ? [usage] : [])];
  }

  #chunk(delta: object, finishReason: string | null = null): object {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
    return { ...this.#head, choices, ...(this.#hasUsage ? { usage: null } : {}) };
  }
}

function completionId(id: string): string {
  return `chatcmpl-${id}`;
}

function usageOf({ usage }: Answer): z.output<typeof Usage> {
  const { input_tokens: prompt, output_tokens: completion } = usage;
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** List the citations in the text whose passages have a URL. */
function annotationsOf(answer: Answer): Annotation[] {
  const passages = new Map(citedPassages(answer).map((passage) => [passage.number, passage]));
  return [...answer.answer.matchAll(/\[(\d{1,3})\]/g)].flatMap((marker) => {
    const passage = passages.get(Number(marker[1]));
    const url = passage?.citation.url ?? null;
    if (passage === undefined || url === null) return [];
    const place = { start_index: marker.index, end_index: marker.index + marker[0].length };
    return [{ type: 'url_citation' as const, url_citation: { ...place, url, title: sourceName(passage) } }];
  });
}
