import { invalidRequest } from '../platform/errors.ts';
import type { SendingChannel } from './configs.ts';
import type { HeldNotification } from './outbox-store.ts';
import type { SendRequest } from './schema.ts';
import { NotAccepted } from './senders/not-accepted.ts';
import { koreanMobile } from './senders/phone.ts';
import type {
  OutgoingMessage,
  Sender,
  SenderConfig,
  SenderConnection,
  Template,
  TextMessage,
} from './senders/sender.ts';
import { SENDERS } from './senders/senders.ts';
import {
  ALIMTALK_CHARS_MAX,
  eucKrBytes,
  fillIn,
  LMS_BYTES_MAX,
  LMS_TITLE_BYTES_MAX,
  SMS_BYTES_MAX,
} from './senders/template-text.ts';
import type { TemplateCache } from './template-cache.ts';

/**
 * Build the message for the vendor. Alimtalk vendors get a Korean mobile number in its national form, and arguments for
 * exactly the template's variables.
 *
 * @throws AppError 400 naming the field: `phone_invalid`, `template_unknown`, `template_args_invalid`,
 *   `notification_too_long`, `resend_invalid`; `NotAccepted` if the vendor doesn't respond to the template lookup
 */
export async function prepareMessage(
  templates: TemplateCache,
  channel: SendingChannel,
  connection: SenderConnection | null,
  held: Pick<HeldNotification, 'id' | 'request' | 'requestedAt'>,
): Promise<OutgoingMessage> {
  const { id, request, requestedAt } = held;
  const { phone, template_code: templateCode, template_args: args } = request;
  const common = { id, templateCode, args, requestedAt };
  if (channel.kind === 'contract' || connection === null) {
    requireNoResend(request);
    return { ...common, phone, rendered: null, instead: null };
  }
  const national = requireMobile(phone);
  const template = await templates.find(channel.id, templateCode, () =>
    findTemplate(channel.sender, connection, templateCode),
  );
  requireArguments(template, args);
  const rendered = fillIn({ text: template.text, buttons: template.buttons }, args);
  if ([...rendered.text].length > ALIMTALK_CHARS_MAX) {
    const message = `template_args: the text would have more than ${ALIMTALK_CHARS_MAX} characters; use shorter values`;
    throw invalidRequest(message, 'template_args', 'notification_too_long');
  }
  const instead = textMessageOf(channel.sender, channel.config, request, rendered.text);
  return { ...common, phone: national, rendered, instead };
}

function requireMobile(phone: string): string {
  const national = koreanMobile(phone);
  if (national !== null) return national;
  const message = 'phone: must be a Korean mobile number, such as 01012345678 or +821012345678';
  throw invalidRequest(message, 'phone', 'phone_invalid');
}

async function findTemplate(sender: Sender, connection: SenderConnection, code: string): Promise<Template> {
  const unknown = (why: string) =>
    invalidRequest(
      `template_code: ${sender.label} does not send the template "${code}": ${why}`,
      'template_code',
      'template_unknown',
    );
  try {
    const template = (await connection.template?.(code)) ?? null;
    if (template === null) throw unknown('it has no template with this code in this channel');
    if (template.unusable !== null) throw unknown(`it is not approved (${template.unusable})`);
    return template;
  } catch (error) {
    if (!(error instanceof NotAccepted)) throw error;
    if (error.kind === 'rejected') throw unknown(error.reason);
    // A template lookup sends nothing, so it can be retried.
    throw error.kind === 'unknown' ? new NotAccepted('busy', error.reason, { cause: error }) : error;
  }
}

function requireArguments({ variables }: Template, args: Readonly<Record<string, string>>): void {
  const missing = variables.filter((name) => !Object.hasOwn(args, name));
  const unknown = Object.keys(args).filter((name) => !variables.includes(name));
  if (missing.length === 0 && unknown.length === 0) return;
  const faults = [
    ...(missing.length === 0 ? [] : [`lacks ${missing.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`has ${unknown.join(', ')}, which the template does not`]),
  ];
  const expected = variables.length === 0 ? 'no variables' : `the variables ${variables.join(', ')}`;
  const message = `template_args: ${faults.join('; ')}. The template has ${expected}.`;
  throw invalidRequest(message, 'template_args', 'template_args_invalid');
}

function requireNoResend({ resend, resend_text, resend_title }: SendRequest): void {
  if (resend === undefined && resend_text === undefined && resend_title === undefined) return;
  const message = `resend: works only with the providers ${[...SENDERS.keys()].join(', ')}; leave it out`;
  throw invalidRequest(message, 'resend', 'resend_invalid');
}

/** Build the fallback text message for the vendor; null if there must be none. */
function textMessageOf(
  { provider }: Sender,
  { resend, sms_from: from }: SenderConfig,
  request: SendRequest,
  rendered: string,
): TextMessage | null {
  const { resend_text: ownText, resend_title: title = null } = request;
  if (!(request.resend ?? (resend || ownText !== undefined))) return null;
  const invalid = (message: string, param: string) => invalidRequest(`${param}: ${message}`, param, 'resend_invalid');
  if (from === undefined) throw invalid('the configuration has no sms_from; create it again with one', 'resend');
  if (ownText !== undefined && provider === 'solapi') {
    throw invalid('Solapi sends the text of the notification; leave the field out', 'resend_text');
  }
  const text = ownText ?? rendered;
  const bytes = eucKrBytes(text);
  if (bytes > LMS_BYTES_MAX) throw invalid(`must have at most ${LMS_BYTES_MAX} bytes in EUC-KR`, 'resend_text');
  if (title !== null && eucKrBytes(title) > LMS_TITLE_BYTES_MAX) {
    throw invalid(`must have at most ${LMS_TITLE_BYTES_MAX} bytes in EUC-KR`, 'resend_title');
  }
  const isShort = bytes <= SMS_BYTES_MAX && title === null;
  return { type: isShort ? 'SMS' : 'LMS', from, title, text };
}
