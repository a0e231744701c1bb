import type { VisionSettings } from '../platform/provider-settings.ts';
import type { Secret } from '../platform/secret.ts';
import { faultsOf } from '../platform/upstream/classify.ts';
import { badReply, field } from '../platform/upstream/parse-json.ts';
import { bearer } from '../platform/upstream/request-parts.ts';
import { UpstreamFault } from '../platform/upstream/upstream-fault.ts';
import type { UpstreamHeaders, UpstreamRequest } from '../platform/upstream/upstream-message.ts';
import type { ImageFormat } from './image-header.ts';

const PROMPT =
  'Transcribe all text in this image, in reading order and in its own language. Then, on a new line, describe the ' +
  'image in one short sentence. If there is no text, give the description only. Answer in plain text, without ' +
  'headings, formatting or comments.';

/** Maximum tokens of a response. A dense page of text takes some 2,000. */
const ANSWER_TOKENS_MAX = 8192;

export interface VisionCall {
  readonly model: string;
  readonly apiKey: Secret | null;
  readonly format: ImageFormat;
  /** Image data in base64, with a single frame. */
  readonly base64: string;
  /** Fields to omit because the vendor has refused them before. */
  readonly refusedFields: ReadonlySet<string>;
}

/** Wire protocol of a vision model. It builds requests and parses answers. */
export interface VisionProtocol {
  request(call: VisionCall): UpstreamRequest;
  /**
   * Return the text of an answer.
   *
   * @throws UpstreamFault `transient` for an invalid answer, `rejected` if the model declines the image
   */
  parse(answer: unknown): string;
  faultOf(status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey: Secret | null): UpstreamFault;
  /** Optional fields that some models of this protocol don't accept. */
  readonly optionalFields: readonly string[];
}

/** Protocol of `POST {base}/chat/completions`. Newer models accept only `max_completion_tokens`. */
const openai: VisionProtocol = {
  optionalFields: ['max_tokens', 'temperature'],
  request({ model, apiKey, format, base64, refusedFields }) {
    const bound = refusedFields.has('max_tokens') ? 'max_completion_tokens' : 'max_tokens';
    return withImage('/chat/completions', bearer(apiKey), base64, (image) => ({
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: PROMPT },
            { type: 'image_url', image_url: { url: `data:image/${format};base64,${image}` } },
          ],
        },
      ],
      [bound]: ANSWER_TOKENS_MAX,
      ...(refusedFields.has('temperature') ? {} : { temperature: 0 }),
    }));
  },
  parse(answer) {
    const message = field(first(field(answer, 'choices')), 'message');
    const content = field(message, 'content');
    if (typeof content === 'string') return content;
    if (Array.isArray(content)) return textOfParts(content);
    if (typeof field(message, 'refusal') === 'string') throw declined();
    throw badReply('bad_shape', 'the answer has no text');
  },
  faultOf: faultsOf(),
};

/** Protocol of `POST {base}/models/{model}:generateContent` with an inline image. */
const gemini: VisionProtocol = {
  optionalFields: [],
  request({ model, apiKey, format, base64 }) {
    const name = encodeURIComponent(model.replace(/^models\//, ''));
    const headers: Record<string, string> = apiKey === null ? {} : { 'x-goog-api-key': apiKey.reveal() };
    return withImage(`/models/${name}:generateContent`, headers, base64, (image) => ({
      contents: [
        { role: 'user', parts: [{ text: PROMPT }, { inlineData: { mimeType: `image/${format}`, data: image } }] },
      ],
      generationConfig: { temperature: 0, maxOutputTokens: ANSWER_TOKENS_MAX },
    }));
  },
  parse(answer) {
    const candidate = first(field(answer, 'candidates'));
    const parts = field(field(candidate, 'content'), 'parts');
    if (Array.isArray(parts)) return textOfParts(parts.filter((part) => field(part, 'thought') !== true));
    // The image or the response was blocked. Any other response without parts is a transient fault.
    const reason = field(candidate, 'finishReason') ?? field(field(answer, 'promptFeedback'), 'blockReason');
    if (typeof reason === 'string' && reason !== 'STOP' && reason !== 'MAX_TOKENS') throw declined();
    throw badReply('bad_shape', 'the answer has no text');
  },
  // A 400 here means that the account's country or billing is not accepted.
  faultOf: faultsOf((status, { codes }) =>
    status === 400 && codes.includes('FAILED_PRECONDITION') ? 'refused' : null,
  ),
};

/** Protocol of `POST {base}/api/chat` with the image next to the text. */
const ollama: VisionProtocol = {
  optionalFields: [],
  request({ model, apiKey, base64 }) {
    return withImage('/api/chat', bearer(apiKey), base64, (image) => ({
      model,
      messages: [{ role: 'user', content: PROMPT, images: [image] }],
      stream: false,
      options: { temperature: 0, num_predict: ANSWER_TOKENS_MAX },
    }));
  },
  parse(answer) {
    const content = field(field(answer, 'message'), 'content');
    if (typeof content !== 'string') throw badReply('bad_shape', 'the answer has no text');
    return content;
  },
  faultOf: faultsOf(),
};

const PROTOCOLS: Readonly<Record<VisionSettings['protocol'], VisionProtocol>> = { openai, gemini, ollama };

export function visionProtocolOf(name: VisionSettings['protocol']): VisionProtocol {
  return PROTOCOLS[name];
}

const IMAGE_PLACEHOLDER = '\u0001image\u0001';
const PLACEHOLDER_IN_JSON = JSON.stringify(IMAGE_PLACEHOLDER).slice(1, -1);

/** Build a request body. Insert the base64 string afterwards, since it may be ten megabytes long. */
function withImage(
  path: string,
  headers: Record<string, string>,
  base64: string,
  bodyOf: (image: string) => object,
): UpstreamRequest {
  const [head = '', tail = ''] = JSON.stringify(bodyOf(IMAGE_PLACEHOLDER)).split(PLACEHOLDER_IN_JSON);
  return { method: 'POST', path, headers, body: head + base64 + tail };
}

function first(list: unknown): unknown {
  return Array.isArray(list) ? list[0] : undefined;
}

function textOfParts(parts: readonly unknown[]): string {
  return parts
    .map((part) => field(part, 'text'))
    .filter((text) => typeof text === 'string')
    .join('');
}

function declined(): UpstreamFault {
  return new UpstreamFault({ kind: 'rejected', code: 'declined', message: 'the model declined to read this image' });
}
