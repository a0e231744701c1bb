import { AppError } from '../platform/errors.ts';
import { HttpUpstream } from '../platform/upstream/transport.ts';
import { UpstreamFault } from '../platform/upstream/upstream-fault.ts';
import type { ProviderSettings } from '../platform/vendor-settings.ts';
import { openCredential } from './providers/credentials/open-credential.ts';
import { prepareRequest } from './providers/prepare-request.ts';
import { protocolOf } from './providers/protocols/protocol-of.ts';

const BODY_BYTES_MAX = 4 * 1024 * 1024;
const FLOAT_BYTES = 4;
/** Maximum depth to search a response for a vector. */
const DEPTH_MAX = 6;

/**
 * Make one real call to a vendor, and return the vector length of a model.
 *
 * @param model name of the model at the vendor
 * @throws AppError `provider_refused` (422) with the vendor's message, `provider_unavailable` (502); the signal's
 *   reason
 */
export async function findDimensions(
  { protocol: name, endpoints, apiVersion, timeoutMs }: ProviderSettings,
  model: string,
  signal: AbortSignal,
): Promise<number> {
  const [endpoint] = endpoints;
  if (endpoint === undefined) throw new Error('a provider has at least one endpoint');
  const protocol = protocolOf(name);
  const { origin, pathname } = new URL(endpoint.baseUrl);
  const upstream = new HttpUpstream(origin, { connectionsMax: 1 });
  const credential = openCredential(endpoint);
  try {
    const at = { origin, basePath: pathname.replace(/\/+$/, ''), credential };
    const { request, apiKey } = await prepareRequest(protocol, at, signal, {
      upstreamModel: model,
      texts: ['Is the model there?'],
      taskType: null,
      dimensions: null,
      apiVersion,
    });
    const reply = await upstream.call({ ...request, timeoutMs, bodyBytesMax: BODY_BYTES_MAX, signal });
    if (reply.status >= 300) {
      const fault = protocol.faultOf(reply.status, reply.headers, reply.body, apiKey);
      throw refused(`${endpoint.baseUrl} answered ${reply.status}: ${fault.message}`);
    }
    const length = lengthOfVector(JSON.parse(reply.body.toString()), 0);
    if (length === null) throw refused(`the answer of ${endpoint.baseUrl} has no vector; is the protocol ${name}?`);
    return length;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) throw error;
    if (error instanceof UpstreamFault && error.kind === 'refused') throw refused(error.message);
    const message = `cannot reach ${endpoint.baseUrl}: ${error instanceof Error ? error.message : String(error)}`;
    throw new AppError({ code: 'provider_unavailable', status: 502, message, cause: error });
  } finally {
    await upstream.close();
    await credential.close();
  }
}

/** Return the length of the first vector in a response: a list of numbers, or base64 of float32 in `embedding`. */
function lengthOfVector(node: unknown, depth: number): number | null {
  if (typeof node !== 'object' || node === null || depth > DEPTH_MAX) return null;
  if (Array.isArray(node) && node.length > 1 && node.every((value) => typeof value === 'number')) return node.length;
  for (const [key, value] of Object.entries(node)) {
    const isBase64 = key === 'embedding' && typeof value === 'string';
    const found = isBase64 ? Buffer.from(value, 'base64').length / FLOAT_BYTES : lengthOfVector(value, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

function refused(message: string): AppError {
  return new AppError({ code: 'provider_refused', status: 422, message });
}
