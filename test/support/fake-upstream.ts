import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROTOCOLS, type ProtocolName } from '../../src/embedding/providers/provider.ts';
import { type Behaviour, send } from './fake-upstream/faults.ts';
import { WIRE } from './fake-upstream/protocols.ts';
import { semanticVectorOf } from './fake-upstream/semantic.ts';
import { type FakeAwsKey, signerOf } from './fake-upstream/signature.ts';
import { vectorOf } from './fake-upstream/vectors.ts';
import type { WireProtocol, WireRequest } from './fake-upstream/wire.ts';

export type { Behaviour } from './fake-upstream/faults.ts';

/** Call with a valid request. */
export interface UpstreamCallSeen {
  readonly protocol: ProtocolName;
  readonly model: string;
  readonly texts: readonly string[];
  /** Task type in the protocol's own terms. */
  readonly taskType: string | null;
  readonly dimensions: number | null;
  /** Headers without the credential. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Credential of the request. */
  readonly apiKey: string | null;
  /** Parsed body. */
  readonly body: unknown;
  /** True if the client disconnected before it got the response. */
  aborted: boolean;
}

export interface FakeUpstreamOptions {
  /** Dimension to use for requests without one: for all models, or by model. Default 8. */
  readonly dimensions?: number | Readonly<Record<string, number>>;
  /** Accepted keys. By default, no key is needed, and a request with one is refused. */
  readonly apiKeys?: readonly string[];
  /** Access key of AWS whose signature is accepted instead of a key. */
  readonly awsKey?: FakeAwsKey;
  /** Answer with numbers even if base64 is requested, like servers without base64. */
  readonly numbersOnly?: boolean;
  /**
   * Return vectors by the meaning of texts, which are equal for all models up to a rotation and thus can be aligned. By
   * default, vectors are pseudo-random and unrelated.
   */
  readonly semantic?: boolean;
  /** Model-specific vector of a text; null to use the other options. */
  readonly vectors?: (model: string, text: string, dimensions: number) => Float32Array | null;
  /** Maximum number of texts of one call. Default: that of the protocol. */
  readonly itemsMax?: number;
}

/** Return the tokens that the fake counts in a text: its UTF-16 code units, at least one. */
export function fakeTokens(text: string): number {
  return Math.max(1, text.length);
}

/**
 * HTTP fake of an embedding vendor. It supports all protocols and refuses every request that the real vendors don't
 * define. Malformed requests are listed in `violations`, which tests expect to be empty.
 */
export class FakeUpstream {
  /** Calls in the order of arrival. */
  readonly calls: UpstreamCallSeen[] = [];
  readonly violations: string[] = [];
  /** Largest number of concurrent calls so far. */
  concurrencySeen = 0;
  /** Choose the behaviour of each call without a queued one; null means a correct response. */
  decide: (call: UpstreamCallSeen) => Behaviour | null = () => null;
  /** Called after each completely sent response. */
  onAnswered: (call: UpstreamCallSeen) => void = () => {};
  readonly #options: FakeUpstreamOptions;
  readonly #queue: Behaviour[] = [];
  readonly #server: Server;
  readonly #timers = new Set<NodeJS.Timeout>();
  #active = 0;

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

  /** Root address. A provider is configured with `baseUrl(protocol)`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  baseUrl(protocol: ProtocolName): string {
    return this.url + (WIRE[protocol].usualBase ?? WIRE[protocol].base);
  }

  /** Queue behaviours of the next calls, one per call. */
  next(...behaviours: readonly Behaviour[]): void {
    this.#queue.push(...behaviours);
  }

  /** Return the vector of a correct response for a text. */
  vectorOf(model: string, text: string, dimensions: number | null = null): Float32Array {
    const length = dimensions ?? this.#nativeDimension(model);
    const own = this.#options.vectors?.(model, text, length) ?? null;
    if (own !== null) return own;
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
    this.#active += 1;
    this.concurrencySeen = Math.max(this.concurrencySeen, this.#active);
    response.once('close', () => {
      this.#active -= 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const protocol = PROTOCOLS.find((name) => request.url?.startsWith(`${WIRE[name].base}/`));
    if (protocol === undefined) return this.#violation(response, 404, WIRE.openai, `no such path: ${request.url}`);
    const wire = WIRE[protocol];
    const path = (request.url as string).slice(wire.base.length);

    const { awsKey } = this.#options;
    const apiKey = awsKey ? signerOf(request, bytes, awsKey) : credentialOf(request, wire);
    if (awsKey ? apiKey === null : !this.#accepts(apiKey)) {
      if (apiKey !== null && this.#options.apiKeys === undefined)
        this.violations.push('the request has an unexpected credential');
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
    const fault = findHeaderFault(request, wire);
    if (fault !== null) return this.#violation(response, 400, wire, fault);
    let body: unknown;
    let parsed: WireRequest;
    try {
      body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
      parsed = wire.read(body, pathModel);
    } catch (error) {
      return this.#violation(response, 400, wire, `${protocol}: ${(error as Error).message}`);
    }
    const itemsMax = this.#options.itemsMax ?? wire.itemsMax;
    if (parsed.texts.length > itemsMax) {
      return this.#violation(response, 400, wire, `${protocol}: ${parsed.texts.length} texts, at most ${itemsMax}`);
    }
    const { authorization: _bearer, 'x-goog-api-key': _google, 'api-key': _azure, ...headers } = request.headers;
    const { model, texts, taskType, dimensions } = parsed;
    const call = { protocol, model, texts, taskType, dimensions, headers, apiKey, body, aborted: false };
    this.calls.push(call);
    response.once('close', () => {
      call.aborted = !response.writableFinished;
    });
    response.once('finish', () => this.onAnswered(call));
    this.#send(response, wire, parsed, this.#queue.shift() ?? this.decide(call) ?? { kind: 'ok' });
  }

  #send(response: ServerResponse, wire: WireProtocol, parsed: WireRequest, behaviour: Behaviour): void {
    if (behaviour.kind === 'delay') {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#send(response, wire, parsed, behaviour.then ?? { kind: 'ok' });
      }, behaviour.ms);
      this.#timers.add(timer);
      return;
    }
    const reply = {
      model: parsed.model,
      vectors: parsed.texts.map((text) => this.vectorOf(parsed.model, text, parsed.dimensions)),
      indices: parsed.texts.map((_, index) => index),
      tokens: parsed.texts.reduce((sum, text) => sum + fakeTokens(text), 0),
      base64: parsed.base64 && this.#options.numbersOnly !== true,
    };
    send(response, wire, reply, behaviour);
  }

  #accepts(apiKey: string | null): boolean {
    const { apiKeys } = this.#options;
    return apiKeys === undefined ? apiKey === null : apiKey !== null && apiKeys.includes(apiKey);
  }

  #refuse(response: ServerResponse, protocol: ProtocolName): void {
    const wire = WIRE[protocol];
    const usual = { status: 401, body: wire.error(401, 'Incorrect API key provided', 'invalid_api_key') };
    const { status, body, headers = {} } = { headers: undefined, ...(wire.refusal ?? usual) };
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  }

  #violation(response: ServerResponse, status: number, wire: WireProtocol, message: string): void {
    this.violations.push(message);
    const body = wire.error(status, message, status === 404 ? 'not_found' : 'invalid_request');
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}

function credentialOf(request: IncomingMessage, wire: WireProtocol): string | null {
  if (wire.auth !== 'bearer') return (request.headers[wire.auth] as string | undefined) ?? null;
  return /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

/** Check the method and the headers of a request. @returns the fault, or null */
function findHeaderFault(request: IncomingMessage, wire: WireProtocol): string | null {
  const { method, headers } = request;
  if (method !== 'POST') return `method ${method}`;
  if (!/^application\/json(; ?charset=utf-8)?$/i.test(headers['content-type'] ?? '')) return 'content type is not JSON';
  const others = ['authorization', 'x-goog-api-key', 'api-key'].filter(
    (name) => name !== (wire.auth === 'bearer' ? 'authorization' : wire.auth),
  );
  const other = others.find((name) => headers[name] !== undefined);
  return other === undefined ? null : `a credential in ${other}`;
}
