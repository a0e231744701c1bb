import type { AnswerSettings } from '../../platform/answer-settings.ts';
import type { Secret } from '../../platform/secret.ts';
import { faultsOf } from '../../platform/upstream/classify.ts';
import { badReply, field } from '../../platform/upstream/parse-json.ts';
import { bearer, postJson } from '../../platform/upstream/request-parts.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import type { UpstreamHeaders, UpstreamRequest } from '../../platform/upstream/upstream-message.ts';
import type { ChatMessage, ChatTask, EndReason } from './chat-model.ts';

export interface ChatCall extends ChatTask {
  readonly model: string;
  readonly apiKey: Secret | null;
  /** Optional fields to omit, since the vendor has refused them before. */
  readonly refusedFields: ReadonlySet<string>;
}

/** Contents of one server-sent event of an answer. Absent fields are unknown. */
export interface ReadEvent {
  readonly text?: string;
  readonly reason?: EndReason;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** True for the vendor's final event. */
  readonly isLast?: true;
}

/** Wire protocol of a chat model: builds requests and parses the events of answers. */
export interface ChatProtocol {
  request(call: ChatCall): UpstreamRequest;
  /** Optional request fields that some models of this protocol refuse. */
  readonly optionalFields: readonly string[];
  /**
   * Parse the data of a server-sent event.
   *
   * @throws UpstreamFault for an error event or an unexpected shape
   */
  read(data: string): ReadEvent;
  faultOf(status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey: Secret | null): UpstreamFault;
}

const OPENAI_REASONS: Readonly<Record<string, EndReason>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'refusal',
};

/**
 * `POST {base}/chat/completions` with `stream: true`, as of
 * https://platform.openai.com/docs/api-reference/chat-streaming. Newer models accept only `max_completion_tokens`.
 */
const openai: ChatProtocol = {
  optionalFields: ['max_tokens', 'temperature', 'stream_options'],
  request({ model, apiKey, messages, outputTokensMax, refusedFields }) {
    const optional = {
      max_tokens: outputTokensMax,
      temperature: 0,
      stream_options: { include_usage: true },
    };
    return postJson('/chat/completions', bearer(apiKey), {
      model,
      messages: messages.map(toWire),
      stream: true,
      ...withoutFields(optional, refusedFields),
      ...(refusedFields.has('max_tokens') ? { max_completion_tokens: outputTokensMax } : {}),
    });
  },
  read(data) {
    if (data === '[DONE]') return { isLast: true };
    const event = parseEvent(data);
    const [choice] = listOf(field(event, 'choices'));
    const delta = field(choice, 'delta');
    const usage = field(event, 'usage');
    const refusal = field(delta, 'refusal');
    const finish = field(choice, 'finish_reason');
    return {
      ...textIn(field(delta, 'content') ?? refusal),
      // On a refusal, OpenAI still reports the finish reason "stop".
      ...(typeof refusal === 'string' && refusal !== '' ? { reason: 'refusal' } : reasonIn(OPENAI_REASONS, finish)),
      ...countIn('inputTokens', field(usage, 'prompt_tokens')),
      ...countIn('outputTokens', field(usage, 'completion_tokens')),
    };
  },
  faultOf: faultsOf(),
};

const ANTHROPIC_VERSION = '2023-06-01';
const ANTHROPIC_REASONS: Readonly<Record<string, EndReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
};

/** `POST {base}/v1/messages` with `stream: true`, as of https://docs.claude.com/en/api/messages-streaming. */
const anthropic: ChatProtocol = {
  optionalFields: ['temperature'],
  request({ model, apiKey, messages, outputTokensMax, refusedFields }) {
    const headers: Record<string, string> = { 'anthropic-version': ANTHROPIC_VERSION };
    if (apiKey !== null) headers['x-api-key'] = apiKey.reveal();
    const system = messages.filter(({ role }) => role === 'system').map(({ text }) => text.toWellFormed());
    // The first message must be from the user. A greeting by the client or a truncated history may precede it.
    const begin = messages.findIndex(({ role }) => role === 'user');
    return postJson('/v1/messages', headers, {
      model,
      max_tokens: outputTokensMax,
      system: system.join('\n\n'),
      messages: messages.slice(begin).map(toWire),
      stream: true,
      ...withoutFields({ temperature: 0 }, refusedFields),
    });
  },
  read(data) {
    const event = parseEvent(data);
    const usage = field(event, 'usage') ?? field(field(event, 'message'), 'usage');
    const delta = field(event, 'delta');
    return {
      ...textIn(field(delta, 'text')),
      ...reasonIn(ANTHROPIC_REASONS, field(delta, 'stop_reason')),
      ...countIn('inputTokens', field(usage, 'input_tokens')),
      ...countIn('outputTokens', field(usage, 'output_tokens')),
      ...(field(event, 'type') === 'message_stop' ? { isLast: true } : {}),
    };
  },
  faultOf: faultsOf(),
};

const PROTOCOLS: Readonly<Record<AnswerSettings['protocol'], ChatProtocol>> = { openai, anthropic };

export function chatProtocolOf(name: AnswerSettings['protocol']): ChatProtocol {
  return PROTOCOLS[name];
}

/** Replace lone surrogates, which some vendors reject. */
function toWire({ role, text }: ChatMessage) {
  return { role, content: text.toWellFormed() };
}

function withoutFields(fields: object, refused: ReadonlySet<string>): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !refused.has(name)));
}

/** @throws UpstreamFault for an error event, and for data that is not a JSON object */
function parseEvent(data: string): unknown {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    throw badReply('bad_json', 'an event is not JSON');
  }
  if (typeof event !== 'object' || event === null) throw badReply('bad_shape', 'an event is no object');
  if ('error' in event && event.error) {
    // Leave out the vendor's message, which may quote the question.
    throw new UpstreamFault({ kind: 'transient', code: 'stream_error', message: 'the answer ended with an error' });
  }
  return event;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textIn(value: unknown): Pick<ReadEvent, 'text'> {
  return typeof value === 'string' && value !== '' ? { text: value } : {};
}

/** Map the vendor's finish reason. An unknown one counts as "stop". */
function reasonIn(reasons: Readonly<Record<string, EndReason>>, value: unknown): Pick<ReadEvent, 'reason'> {
  return typeof value === 'string' ? { reason: reasons[value] ?? 'stop' } : {};
}

function countIn<Key extends 'inputTokens' | 'outputTokens'>(key: Key, value: unknown): { [K in Key]?: number } {
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  return (isCount ? { [key]: value } : {}) as { [K in Key]?: number };
}
