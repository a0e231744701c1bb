import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROTOCOLS, type ProtocolName } from '../../src/embedding/providers/provider.ts';
import { type Behaviour, send } from './fake-upstream/faults.ts';
import { semanticVectorOf } from './fake-upstream/semantic.ts';
import { vectorOf } from './fake-upstream/vectors.ts';
import { WIRE, type WireProtocol, type WireRequest } from './fake-upstream/wire.ts';

export type { Behaviour } from './fake-upstream/faults.ts';

/** One call that was understood, in the order of arrival. */
export interface UpstreamCallSeen {
  readonly protocol: ProtocolName;
  readonly model: string;
  readonly texts: readonly string[];
  /** In the protocol's own word. */
  readonly taskType: string | null;
  readonly dimensions: number | null;
  /** Without the credential. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The credential that came with it, to tell keys apart. */
  readonly apiKey: string | null;
  /** The body as it was parsed. */
  readonly body: unknown;
  /** Whether the client hung up before it had its answer. */
  aborted: boolean;
}

export interface FakeUpstreamOptions {
  /** Dimension of an answer for which none is asked: one for all, or by model. Default 8. */
  readonly dimensions?: number | Readonly<Record<string, number>>;
  /** Keys that are let in. Default: none is asked for, and none may come. */
  readonly apiKeys?: readonly string[];
  /** Answer numbers even where base64 is asked for, as servers do that do not know it. */
  readonly numbersOnly?: boolean;
  /**
   * Vectors by what the texts say: those of all models are alike up to a rotation, so that they can be aligned. Default:
   * pseudo-random ones, of which nothing is alike.
   */
  readonly semantic?: boolean;
  /** Texts of one call, where the server is set up for another number than its protocol's. */
  readonly itemsMax?: number;
}

/** Tokens that the fake counts in a text: its UTF-16 code units, at least one. */
export function fakeTokens(text: string): number {
  return Math.max(1, text.length);
}

/**
 * A real HTTP server that speaks all protocols and takes nothing that the real ones do not know. What it refused for
 * its form is listed in `violations`, for tests to find empty.
 */
export class FakeUpstream {
  readonly calls: UpstreamCallSeen[] = [];
  readonly violations: string[] = [];
  /** Calls that were under way at the same time, at most. */
  concurrencySeen = 0;
  /** Asked for every call for which nothing is queued; null: answer properly. */
  decide: (call: UpstreamCallSeen) => Behaviour | null = () => null;
  /** Told of every answer that has been sent off whole. */
  onAnswered: (call: UpstreamCallSeen) => void = () => {};
  readonly #options: FakeUpstreamOptions;
  readonly #queue: Behaviour[] = [];
  readonly #server: Server;
  readonly #timers = new Set<NodeJS.Timeout>();
  #underWay = 0;

  private constructor(options: FakeUpstreamOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(options: FakeUpstreamOptions = {}): Promise<FakeUpstream> {
    const fake = new FakeUpstream(options);
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  /** The root; a provider is configured with `baseUrl(protocol)`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  baseUrl(protocol: ProtocolName): string {
    return this.url + WIRE[protocol].base;
  }

  /** How the next calls are answered, one each. */
  next(...behaviours: readonly Behaviour[]): void {
    this.#queue.push(...behaviours);
  }

  /** What it answers for a text where nothing goes wrong. */
  vectorOf(model: string, text: string, dimensions: number | null = null): Float32Array {
    const length = dimensions ?? this.#nativeDimension(model);
    return this.#options.semantic ? semanticVectorOf(model, text, length) : vectorOf(model, text, length);
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #nativeDimension(model: string): number {
    const { dimensions = 8 } = this.#options;
    if (typeof dimensions === 'number') return dimensions;
    return dimensions[model] ?? 8;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#underWay += 1;
    this.concurrencySeen = Math.max(this.concurrencySeen, this.#underWay);
    response.once('close', () => {
      this.#underWay -= 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const protocol = PROTOCOLS.find((name) => request.url?.startsWith(`${WIRE[name].base}/`));
    if (protocol === undefined) return this.#violation(response, 404, WIRE.openai, `no such path: ${request.url}`);
    const wire = WIRE[protocol];
    const path = (request.url as string).slice(wire.base.length);

    const apiKey = credentialOf(request, wire);
    if (!this.#letsIn(apiKey)) {
      if (apiKey !== null && this.#options.apiKeys === undefined) this.violations.push('a credential came unasked');
      return this.#refuse(response, protocol);
    }
    if (protocol === 'tei' && path === '/info' && request.method === 'GET') {
      const itemsMax = this.#options.itemsMax ?? wire.itemsMax;
      const info = { model_id: 'tei', max_client_batch_size: itemsMax, max_input_length: 512, auto_truncate: false };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(info));
      return;
    }
    const pathModel = wire.path(path);
    if (pathModel === null) return this.#violation(response, 404, wire, `no such path: ${request.url}`);
    const formal = formalFault(request, wire);
    if (formal !== null) return this.#violation(response, 400, wire, formal);
    let body: unknown;
    let asked: WireRequest;
    try {
      body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
      asked = wire.read(body, pathModel);
    } catch (error) {
      return this.#violation(response, 400, wire, `${protocol}: ${(error as Error).message}`);
    }
    const itemsMax = this.#options.itemsMax ?? wire.itemsMax;
    if (asked.texts.length > itemsMax) {
      return this.#violation(response, 400, wire, `${protocol}: ${asked.texts.length} texts, at most ${itemsMax}`);
    }
    const { authorization: _bearer, 'x-goog-api-key': _key, ...headers } = request.headers;
    const { model, texts, taskType, dimensions } = asked;
    const call = { protocol, model, texts, taskType, dimensions, headers, apiKey, body, aborted: false };
    this.calls.push(call);
    response.once('close', () => {
      call.aborted = !response.writableFinished;
    });
    response.once('finish', () => this.onAnswered(call));
    this.#send(response, wire, asked, this.#queue.shift() ?? this.decide(call) ?? { kind: 'ok' });
  }

  #send(response: ServerResponse, wire: WireProtocol, asked: WireRequest, behaviour: Behaviour): void {
    if (behaviour.kind === 'delay') {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#send(response, wire, asked, behaviour.then ?? { kind: 'ok' });
      }, behaviour.ms);
      this.#timers.add(timer);
      return;
    }
    const reply = {
      model: asked.model,
      vectors: asked.texts.map((text) => this.vectorOf(asked.model, text, asked.dimensions)),
      indices: asked.texts.map((_, index) => index),
      tokens: asked.texts.reduce((sum, text) => sum + fakeTokens(text), 0),
      base64: asked.base64 && this.#options.numbersOnly !== true,
    };
    send(response, wire, reply, behaviour);
  }

  #letsIn(apiKey: string | null): boolean {
    const { apiKeys } = this.#options;
    return apiKeys === undefined ? apiKey === null : apiKey !== null && apiKeys.includes(apiKey);
  }

  #refuse(response: ServerResponse, protocol: ProtocolName): void {
    // Gemini answers a wrong key with a 400.
    const status = protocol === 'gemini' ? 400 : 401;
    const body =
      protocol === 'gemini'
        ? { error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details: [KEY_INVALID] } }
        : WIRE[protocol].error(401, 'Incorrect API key provided', 'invalid_api_key');
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  #violation(response: ServerResponse, status: number, wire: WireProtocol, message: string): void {
    this.violations.push(message);
    const body = wire.error(status, message, status === 404 ? 'not_found' : 'invalid_request');
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}

const KEY_INVALID = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' };

function credentialOf(request: IncomingMessage, wire: WireProtocol): string | null {
  if (wire.auth === 'x-goog-api-key') return (request.headers['x-goog-api-key'] as string | undefined) ?? null;
  return /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

/** What is wrong with a request before its body is looked at; null: nothing. */
function formalFault(request: IncomingMessage, wire: WireProtocol): string | null {
  const { method, headers } = request;
  if (method !== 'POST') return `method ${method}`;
  if (!/^application\/json(; ?charset=utf-8)?$/i.test(headers['content-type'] ?? '')) return 'content type is not JSON';
  const other = wire.auth === 'bearer' ? 'x-goog-api-key' : 'authorization';
  return headers[other] === undefined ? null : `a credential in ${other}`;
}
