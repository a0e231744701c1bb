import type { Protocol, UpstreamCall } from '../../../../src/embedding/providers/protocols/protocol.ts';
import type { ProtocolName } from '../../../../src/embedding/providers/provider.ts';
import type { UpstreamReply, UpstreamRequest } from '../../../../src/platform/upstream/upstream-message.ts';

/** Create a call of two texts, with changes. */
export function callOf(fields: Partial<UpstreamCall> = {}): UpstreamCall {
  const texts = ['one', '둘'];
  return { upstreamModel: 'm', texts, taskType: null, dimensions: null, apiKey: null, apiVersion: null, ...fields };
}

/** Name of a model that takes several texts. */
export function modelOf(protocol: ProtocolName): string {
  return protocol === 'bedrock' ? 'cohere.embed-v4:0' : 'm';
}

export function bodyOf(request: UpstreamRequest): unknown {
  return JSON.parse(request.body as string);
}

/** Send a request as the transport does. */
export async function send(
  baseUrl: string,
  request: UpstreamRequest,
  signal: AbortSignal | null = null,
): Promise<UpstreamReply & { status: number }> {
  const { method, path, headers, body } = request;
  const type = body === null ? {} : { 'content-type': 'application/json' };
  const response = await fetch(baseUrl + path, { method, headers: { ...headers, ...type }, body, signal });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: Object.fromEntries(response.headers), body: bytes };
}

/** Return the fault of an answer, by its status or its body; throws if there is none. */
export function faultIn(
  protocol: Protocol,
  reply: UpstreamReply & { status: number },
  expected: { count: number; dimensions: number },
) {
  if (reply.status !== 200) return protocol.faultOf(reply.status, reply.headers, reply.body);
  try {
    protocol.parse(reply, expected);
  } catch (error) {
    return error;
  }
  throw new Error('the answer has no fault');
}
