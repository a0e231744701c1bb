import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

type Protocol = 'openai' | 'gemini' | 'ollama';

/** Call with a valid request, in terms that all protocols share. */
export interface VisionCallSeen {
  readonly protocol: Protocol;
  readonly model: string;
  readonly prompt: string;
  readonly mimeType: string | null;
  readonly image: Buffer;
  readonly apiKey: string | null;
  readonly body: unknown;
}

/** Response to a call: a text to send in the protocol's form, or a function that writes any response. */
export type VisionAnswer = string | { readonly take: (response: ServerResponse, call: VisionCallSeen) => void };

/** Base64 of any length: a regular expression over megabytes can exhaust its stack. */
const base64 = z.string().refine((text) => text.length >= 4 && Buffer.from(text, 'base64').toString('base64') === text);
const DATA_URL = /^data:(image\/(?:png|jpeg|webp|gif));base64,/;

const OpenAi = z.strictObject({
  model: z.string().min(1),
  messages: z.tuple([
    z.strictObject({
      role: z.literal('user'),
      content: z.tuple([
        z.strictObject({ type: z.literal('text'), text: z.string().min(1) }),
        z.strictObject({
          type: z.literal('image_url'),
          image_url: z.strictObject({ url: z.string().regex(DATA_URL) }),
        }),
      ]),
    }),
  ]),
  max_tokens: z.int().positive().optional(),
  max_completion_tokens: z.int().positive().optional(),
  temperature: z.literal(0).optional(),
});

const Gemini = z.strictObject({
  contents: z.tuple([
    z.strictObject({
      role: z.literal('user'),
      parts: z.tuple([
        z.strictObject({ text: z.string().min(1) }),
        z.strictObject({ inlineData: z.strictObject({ mimeType: z.string().regex(/^image\//), data: base64 }) }),
      ]),
    }),
  ]),
  generationConfig: z.strictObject({ temperature: z.literal(0), maxOutputTokens: z.int().positive() }),
});

const Ollama = z.strictObject({
  model: z.string().min(1),
  messages: z.tuple([
    z.strictObject({ role: z.literal('user'), content: z.string().min(1), images: z.tuple([base64]) }),
  ]),
  stream: z.literal(false),
  options: z.strictObject({ temperature: z.literal(0), num_predict: z.int().positive() }),
});

/** HTTP fake of a vision vendor. It supports three protocols and refuses every request that they don't define. */
export class FakeVision {
  readonly calls: VisionCallSeen[] = [];
  /** Malformed requests. Tests expect none. */
  readonly violations: string[] = [];
  concurrencySeen = 0;
  answer: (call: VisionCallSeen, index: number) => VisionAnswer | Promise<VisionAnswer> = () => 'seen';
  readonly #server: Server;
  #active = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<FakeVision> {
    const fake = new FakeVision();
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  /** Return the `base_url` that an operator configures. */
  baseUrl(protocol: Protocol): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}${{ openai: '/v1', gemini: '/v1beta', ollama: '' }[protocol]}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.concurrencySeen = Math.max(this.concurrencySeen, ++this.#active);
    response.once('close', () => this.#active--);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    let call: VisionCallSeen;
    try {
      if (request.method !== 'POST') throw new Error(`method ${request.method}`);
      if (request.headers['content-type'] !== 'application/json') throw new Error('content type');
      call = callOf(request, JSON.parse(Buffer.concat(chunks).toString('utf8')));
    } catch (error) {
      this.violations.push(`${request.url}: ${String(error)}`);
      respond(response, 400, { error: { message: `unknown form: ${String(error).slice(0, 300)}` } });
      return;
    }
    this.calls.push(call);
    const answer = await this.answer(call, this.calls.length - 1);
    if (typeof answer !== 'string') answer.take(response, call);
    else respond(response, 200, bodyOf(call.protocol, answer));
  }
}

export function respond(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Return the body of a correct response. */
export function bodyOf(protocol: Protocol, text: string): unknown {
  switch (protocol) {
    case 'openai':
      return { choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }] };
    case 'gemini':
      return { candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }] };
    case 'ollama':
      return { model: 'm', message: { role: 'assistant', content: text }, done: true };
  }
}

function callOf(request: IncomingMessage, body: unknown): VisionCallSeen {
  const bearer = request.headers.authorization?.replace(/^Bearer /, '') ?? null;
  const googleKey = request.headers['x-goog-api-key'] ?? null;
  const ofGemini = /^\/v1beta\/models\/([^/:]+):generateContent$/.exec(request.url ?? '');
  if (ofGemini !== null) {
    if (bearer !== null) throw new Error('a bearer token');
    const [content] = Gemini.parse(body).contents;
    const [{ text }, { inlineData }] = content.parts;
    return {
      ...{ protocol: 'gemini', model: decodeURIComponent(ofGemini[1] as string), prompt: text, body },
      ...{ mimeType: inlineData.mimeType, image: Buffer.from(inlineData.data, 'base64'), apiKey: googleKey as string },
    };
  }
  if (googleKey !== null) throw new Error('a Google key');
  if (request.url === '/v1/chat/completions') {
    const { model, messages } = OpenAi.parse(body);
    const [{ text }, { image_url: image }] = messages[0].content;
    const [head = '', mimeType = ''] = DATA_URL.exec(image.url) ?? [];
    const data = image.url.slice(head.length);
    return {
      ...{ protocol: 'openai', model, prompt: text, mimeType, body },
      ...{ image: Buffer.from(data, 'base64'), apiKey: bearer },
    };
  }
  if (request.url === '/api/chat') {
    const { model, messages } = Ollama.parse(body);
    const [{ content, images }] = messages;
    return {
      ...{ protocol: 'ollama', model, prompt: content, mimeType: null, body },
      ...{ image: Buffer.from(images[0], 'base64'), apiKey: bearer },
    };
  }
  throw new Error(`path ${request.url}`);
}
