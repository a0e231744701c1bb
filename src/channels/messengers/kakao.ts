import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { AnswerConfig, ChannelReply } from '../schema.ts';
import { isSameSecret, type Messenger, textOf } from './messenger.ts';

/** Number of random bytes of the secret in the address. */
const SECRET_BYTES = 24;

const KakaoConfig = AnswerConfig.extend({
  secret: z
    .string()
    .regex(/^[A-Za-z0-9_-]{24,128}$/, 'must be 24 to 128 letters, digits, "_" and "-"')
    .default(() => randomBytes(SECRET_BYTES).toString('base64url'))
    .describe('part of the address of the skill'),
  header_name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be the name of a header')
    .optional()
    .describe('header that the skill sends with every request'),
  header_value: z
    .string()
    .regex(/^[\x21-\x7e]{16,1024}$/, 'must be 16 to 1,024 characters of printable ASCII')
    .optional(),
}).refine((config) => (config.header_name === undefined) === (config.header_value === undefined), {
  message: 'needs header_name and header_value, or neither of them',
  path: ['header_value'],
});
type KakaoConfig = z.output<typeof KakaoConfig>;

const SkillPayload = z.object({
  userRequest: z.object({ utterance: z.string().min(1), user: z.object({ id: z.string().min(1) }) }),
});

/**
 * Skill of a KakaoTalk chatbot: SkillPayload and SkillResponse 2.0 (kakaobusiness.gitbook.io, chatbot, skill guide,
 * answer_json_format, read in November 2026). The platform signs nothing, waits five seconds and repeats nothing. Its
 * `simpleText` takes 1,000 characters, and a response three outputs.
 */
export const kakao: Messenger<KakaoConfig> = {
  provider: 'kakao',
  config: KakaoConfig,
  pathOf: (id, { secret }) => `/v1/channels/kakao/${id}/${secret}`,
  isGenuine({ headers, pathSecret }, { secret, header_name: name, header_value: value }) {
    const isAddressed = isSameSecret(pathSecret ?? '', secret);
    const given = name === undefined ? '' : headers[name.toLowerCase()];
    const hasHeader = isSameSecret(typeof given === 'string' ? given : '', value ?? '');
    return isAddressed && hasHeader;
  },
  readQuestion(json) {
    const payload = SkillPayload.safeParse(json);
    return payload.success ? { text: payload.data.userRequest.utterance, deliveryId: null } : null;
  },
  toResponse: (reply) => reply,
  makeDelivery: (utterance, { header_name: name, header_value: value }) => ({
    body: JSON.stringify({ userRequest: { utterance, user: { id: 'test' } } }),
    headers: name === undefined || value === undefined ? {} : { [name]: value },
  }),
  readText: (response) => textOf(ChannelReply.parse(response)),
  nothing: { version: '2.0', template: { outputs: [{ simpleText: { text: '질문을 입력해 주세요.' } }] } },
};
