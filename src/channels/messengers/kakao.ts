import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../../platform/secret.ts';
import type { HttpReply } from '../../platform/upstream/transport.ts';
import { phraseOf } from '../phrases.ts';
import { AnswerConfig } from '../schema.ts';
import { jsonOf, repeatable, stringField } from './judge.ts';
import { readSkillText, toSkillResponse } from './kakao-response.ts';
import { headerOf, isSameSecret, type Messenger, type Verdict } from './messenger.ts';

/** Number of random bytes of the secret in the URL. */
const SECRET_BYTES = 24;
const CALLBACK_LIMIT_MS = 60_000;
/** Limits of a response (answer_json_format). The guide gives no length for quick replies; buttons allow 14. */
const QUICK_REPLIES = { max: 10, charsMax: 14 };
const WAITING_CHARS_MAX = 400;

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
  use_callback: z
    .enum(['late', 'always', 'never'], { error: 'must be late, always or never' })
    .default('late')
    .describe('replies to send to the callback of a block: late ones, all, or none'),
  waiting_text: z
    .string()
    .min(1, 'must not be empty')
    .max(WAITING_CHARS_MAX, `must have at most ${WAITING_CHARS_MAX} characters`)
    .optional()
    .describe('text to show until the callback gets the reply'),
  quick_replies: z
    .array(
      z
        .string()
        .trim()
        .min(1, 'must not be empty')
        .max(QUICK_REPLIES.charsMax, `must have at most ${QUICK_REPLIES.charsMax} characters`),
    )
    .max(QUICK_REPLIES.max, `must be at most ${QUICK_REPLIES.max} texts`)
    .default([])
    .describe('suggested questions below a reply; a tap asks one of them'),
}).refine((config) => (config.header_name === undefined) === (config.header_value === undefined), {
  message: 'needs header_name and header_value, or neither of them',
  path: ['header_value'],
});
type KakaoConfig = z.output<typeof KakaoConfig>;

const SkillPayload = z.object({
  userRequest: z.object({
    utterance: z.string().min(1),
    user: z.object({ id: z.string().min(1) }),
    callbackUrl: z.string().min(1).max(2_048).optional().catch(undefined),
  }),
});

/**
 * Skill of a KakaoTalk chatbot: SkillPayload and SkillResponse 2.0 (kakaobusiness.gitbook.io, chatbot, skill guide,
 * answer_json_format and ai_chatbot_callback_guide, read in November 2026). The platform signs nothing, waits five
 * seconds and never retries. If a block has a callback, the response may ask to wait, and the reply follows at the
 * callback URL, which works once and for one minute.
 */
export const kakao: Messenger<KakaoConfig> = {
  provider: 'kakao',
  config: KakaoConfig,
  isFreeFormAllowed: false,
  pathOf: (id, { secret }) => `/v1/channels/kakao/${id}/${secret}`,
  isGenuine(delivery, { secret, header_name: name, header_value: value }) {
    const isAddressed = isSameSecret(delivery.pathSecret ?? '', secret);
    const hasHeader = isSameSecret(name === undefined ? '' : headerOf(delivery, name.toLowerCase()), value ?? '');
    return isAddressed && hasHeader;
  },
  readQuestions(json) {
    const payload = SkillPayload.safeParse(json);
    if (!payload.success) return [];
    const { utterance: text, callbackUrl } = payload.data.userRequest;
    return [{ text, deliveryId: null, replyTo: callbackUrl === undefined ? null : new Secret(callbackUrl) }];
  },
  toResponse: (reply, _, config) => toSkillResponse(reply, config.quick_replies),
  toNothing: () => ({
    version: '2.0',
    template: { outputs: [{ simpleText: { text: phraseOf('no_question', 'ko') } }] },
  }),
  later: {
    limitMs: CALLBACK_LIMIT_MS,
    when: ({ use_callback }) => use_callback,
    acknowledge: ({ waiting_text }, language) => ({
      version: '2.0',
      useCallback: true,
      data: { text: waiting_text ?? phraseOf('waiting', language) },
    }),
    origins: ({ kakaoCallbacks }) => kakaoCallbacks,
    urlOf: (callbackUrl) => callbackUrl,
    toCall: (reply, _, config) => ({ authorization: null, body: toSkillResponse(reply, config.quick_replies) }),
    judge: judgeCallback,
    probe: () => null,
  },
  steps: [
    'Chatbot admin center > Skill > Create: enter the address as the URL, and save.',
    'Open a block, choose the skill as its parameter skill, and use the skill data as its response.',
    'For answers that take longer than 5 seconds: apply for callbacks under Settings > AI chatbot, then switch on the callback of the block and show the skill data "text" as its waiting message.',
    'Deploy the chatbot. The bot test of the admin center does not send callbacks.',
  ],
  makeDelivery: (utterance, { header_name: name, header_value: value }) => ({
    body: JSON.stringify({ userRequest: { utterance, user: { id: 'test' } } }),
    headers: name === undefined || value === undefined ? {} : { [name]: value },
  }),
  readText: readSkillText,
};

/**
 * Judge by `status` of a CallbackResponse: SUCCESS, FAIL or ERROR. The URL works only once, so a call that met an error
 * can safely be repeated.
 */
function judgeCallback(answer: HttpReply): Verdict {
  if (answer.status === 429 || answer.status >= 500) return repeatable(answer);
  if (answer.status >= 300) return { kind: 'refused', reason: `http_${answer.status}` };
  const status = stringField(jsonOf(answer), 'status');
  if (status === 'SUCCESS') return { kind: 'taken' };
  if (status === 'FAIL') return { kind: 'refused', reason: 'callback_refused' };
  return { kind: 'uncertain', reason: status === 'ERROR' ? 'callback_error' : 'invalid_answer' };
}
