import type { IncomingMessage } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { ByteShares } from '../../platform/byte-shares.ts';
import { AppError, invalidRequest } from '../../platform/errors.ts';

const DEPTH_MAX = 100;

/**
 * Read the JSON body of a POST, within the limits per message, per organization and in total.
 * @returns `free`, which releases the memory; call it after the response
 * @throws AppError 415, `message_too_large` (413), `server_busy` (503), `json_invalid` (400)
 */
export async function readMessage(
  req: IncomingMessage,
  { bytesMax, memory, orgId }: { readonly bytesMax: number; readonly memory: ByteShares; readonly orgId: string },
): Promise<{ readonly json: unknown; readonly free: () => void }> {
  if (!isJsonContentType(req.headers['content-type'] ?? null)) {
    const message = 'the header Content-Type must be application/json';
    throw new AppError({ code: 'content_type_wrong', status: 415, message });
  }
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
  const chunks: Buffer[] = [];
  let taken = 0;
  const free = () => {
    memory.release(orgId, taken);
    taken = 0;
  };
  try {
    // Node still reads a refused body to its end, so that the client gets the response.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (taken + chunk.length > bytesMax) throw tooLarge(bytesMax);
      if (memory.take(orgId, chunk.length) !== null) throw busy();
      taken += chunk.length;
      chunks.push(chunk);
    }
    return { json: parseJson(Buffer.concat(chunks)), free };
  } catch (error) {
    free();
    throw error;
  }
}

function parseJson(bytes: Buffer): unknown {
  if (depthOf(bytes) > DEPTH_MAX)
    throw invalidRequest(`the JSON is nested deeper than ${DEPTH_MAX}`, null, 'json_invalid');
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw invalidRequest('the body is not valid JSON', null, 'json_invalid');
  }
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\[]{}');

/** Compute the nesting depth of JSON from its bytes, before parsing. */
function depthOf(bytes: Buffer): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      deepest = Math.max(deepest, ++depth);
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth--;
    }
  }
  return deepest;
}

function busy(): AppError {
  const message = 'the tool server holds too many large messages; try again in a few seconds';
  return new AppError({ code: 'server_busy', status: 503, message, retryable: true, retryAfterSeconds: 5 });
}

function tooLarge(bytesMax: number): AppError {
  const message = `a message may have at most ${bytesMax} bytes; SERVICE_MCP_BODY_BYTES sets this limit`;
  return new AppError({ code: 'message_too_large', status: 413, message });
}
