import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

type Protocol = 'openai' | 'anthropic';

/** Request bodies of each protocol. Anything else is refused, as by the vendors. */
const content = z.string().min(1);
const BODIES = {
  openai: z.strictObject({
    model: z.string(),
    messages: z.array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content })).min(1),
    stream: z.literal(true),
    max_tokens: z.int().positive().optional(),
    max_completion_tokens: z.int().positive().optional(),
    temperature: z.number().optional(),
    stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
  }),
  anthropic: z.strictObject({
    model: z.string(),
    max_tokens: z.int().positive(),
    system: z.string(),
    messages: z
      .array(z.strictObject({ role: z.enum(['user', 'assistant']), content }))
      .refine((messages) => messages[0]?.role === 'user', 'first message must use the user role'),
    stream: z.literal(true),
    temperature: z.number().optional(),
  }),
};

/** Received request, in terms shared by both protocols. */
export interface ChatCallSeen {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly body: Readonly<Record<string, unknown>>;
  readonly key: string | undefined;
  /** Passages of the prompt by number. */
  readonly passages: ReadonlyMap<number, string>;
  /** Question of the prompt, or last question of a conversation to rewrite. */
  readonly question: string;
  readonly isRewriting: boolean;
  /** True once the client has closed the connection before the end of the response. */
  readonly isAbandoned: () => boolean;
  /** Port of the client, which identifies the connection. */
  readonly port: number;
}

export interface FakeChat {
  readonly url: string;
  readonly calls: ChatCallSeen[];
  /** Text of the next answers. By default, the first sentences of the first passages, each with its citation. */
  answerOf: (call: ChatCallSeen) => string;
  /** Finish reason in the protocol's words; null for a normal end. */
  endReason: string | null;
  /** Token counts of each response; null to report none. */
  usage: { readonly input: number; readonly output: number } | null;
  /** Wait before each part of a response. */
  beforePart: (nth: number) => Promise<void>;
  /** Replacement of the normal response, or null. */
  misbehave: ((response: ServerResponse, call: ChatCallSeen) => void) | null;
  close(): Promise<void>;
}

/** Start a server of the chat API of a vendor on loopback. It answers like a model that quotes. */
export async function startFakeChat(protocol: Protocol): Promise<FakeChat> {
  const fake: Omit<FakeChat, 'url' | 'close'> = {
    calls: [],
    answerOf: quote,
    endReason: null,
    usage: { input: 100, output: 20 },
    beforePart: async () => {},
    misbehave: null,
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = protocol === 'openai' ? '/chat/completions' : '/v1/messages';
    const parsed = BODIES[protocol].safeParse(JSON.parse(Buffer.concat(chunks).toString()));
    if (request.url !== path || !parsed.success) {
      const message = parsed.success ? `no ${request.url}` : parsed.error.message;
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
      return;
    }
    let isDone = false;
    let isAbandoned = false;
    response.once('close', () => {
      isAbandoned = !isDone;
    });
    const key = request.headers['x-api-key'] ?? request.headers.authorization?.replace('Bearer ', '');
    const sender = { key: typeof key === 'string' ? key : undefined, port: request.socket.remotePort ?? 0 };
    const call = toCall(parsed.data, sender, () => isAbandoned);
    fake.calls.push(call);
    if (fake.misbehave) return fake.misbehave(response, call);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let nth = 0;
    for (const event of eventsOf(protocol, fake, call)) {
      await fake.beforePart(nth++);
      if (isAbandoned) return;
      if (!response.write(event)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    isDone = true;
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return Object.assign(fake, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  });
}

/** Send the first events of a response, and then close the connection prematurely. */
export function cutOffAfter(text: string) {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`);
    // Let the client read the first part before the connection breaks.
    setImmediate(() => response.end());
  };
}

function toCall(
  body: z.output<(typeof BODIES)[Protocol]>,
  { key, port }: Pick<ChatCallSeen, 'key' | 'port'>,
  isAbandoned: () => boolean,
): ChatCallSeen {
  const system = 'system' in body ? body.system : (body.messages.find(({ role }) => role === 'system')?.content ?? '');
  const messages = body.messages.filter(({ role }) => role !== 'system');
  const prompt = messages.at(-1)?.content ?? '';
  const passages = [...prompt.matchAll(/^Passage (\d+) \(.*\):\n([\s\S]*?)(?=\n\nPassage \d+ \(|\nEND UNTRUSTED)/gm)];
  return {
    model: body.model,
    system,
    messages,
    body,
    key,
    port,
    passages: new Map(passages.map(([, number, text]) => [Number(number), text as string])),
    question: /(?:Question|Last question): (.*)$/s.exec(prompt)?.[1] ?? '',
    isRewriting: system.startsWith('You rewrite'),
    isAbandoned,
  };
}

/** Answer with the first sentence of each of the first three passages, or a line of each that has no full stop. */
export function quote({ passages, question, isRewriting }: ChatCallSeen): string {
  if (isRewriting) return question;
  if (passages.size === 0) return 'Yes.';
  const quotes = [...passages].slice(0, 3).map(([number, text]) => ({ number, text: firstSentence(text) }));
  return quotes
    .map(({ number, text }) => `${text} [${number}]${/[.!?]$/.test(text) ? ' ' : '\n'}`)
    .join('')
    .trimEnd();
}

function firstSentence(text: string): string {
  return /^[^.!?\n]*[.!?]/m.exec(text)?.[0] ?? text.trim();
}

function* eventsOf(protocol: Protocol, fake: Omit<FakeChat, 'url' | 'close'>, call: ChatCallSeen): Generator<string> {
  const { usage, endReason } = fake;
  // Parts of a few characters divide citations and surrogate pairs' neighbours.
  const parts = fake.answerOf(call).match(/[\s\S]{1,5}/gu) ?? [];
  const event = (data: object, name?: string) =>
    `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
  if (protocol === 'openai') {
    const chunk = (delta: object, finish: string | null) =>
      event({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] });
    yield chunk({ role: 'assistant', content: '' }, null);
    for (const content of parts) yield chunk({ content }, null);
    yield chunk({}, endReason ?? 'stop');
    if (usage) yield event({ choices: [], usage: { prompt_tokens: usage.input, completion_tokens: usage.output } });
    yield 'data: [DONE]\n\n';
    return;
  }
  const { input, output } = usage ?? { input: undefined, output: undefined };
  yield event(
    { type: 'message_start', message: { usage: { input_tokens: input, output_tokens: 1 } } },
    'message_start',
  );
  yield event({ type: 'ping' }, 'ping');
  for (const text of parts) {
    yield event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }, 'content_block_delta');
  }
  const delta = { stop_reason: endReason ?? 'end_turn' };
  yield event({ type: 'message_delta', delta, usage: { output_tokens: output } }, 'message_delta');
  yield event({ type: 'message_stop' }, 'message_stop');
}
