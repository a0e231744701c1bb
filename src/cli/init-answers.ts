import { VendorChatModel } from '../answers/models/vendor-chat-model.ts';
import { loadConfig } from '../platform/config.ts';
import { configFileOf } from '../platform/environment.ts';
import { conflict, invalidRequest } from '../platform/errors.ts';
import { openLogger } from '../platform/logger.ts';
import { down } from './doctor-care.ts';
import { editSettings, readSettings, type SettingsPlace } from './settings-file.ts';

/** Chat model protocols, with the address of the vendor that defined each. */
export const CHAT_PROTOCOLS = { openai: 'https://api.openai.com/v1', anthropic: 'https://api.anthropic.com' } as const;

/** Choice of a chat model. */
export interface ChatChoice {
  readonly protocol: keyof typeof CHAT_PROTOCOLS;
  readonly url: string;
  readonly model: string;
  /** Environment variable that holds the API key; null for a server without keys. */
  readonly keyVariable: string | null;
}

/** Chat model that was set up. */
interface AnswersReport {
  readonly file: string;
  readonly model: string;
  /** Time until the first word. */
  readonly latency_ms: number;
}

/**
 * Test a chat model with one question, then write it into service.yaml as `answers`. Keep other settings and comments.
 * Write nothing if the call fails.
 *
 * @throws AppError `answers_exist` (409) unless `force`, `key_missing` (400), `config_invalid`, `provider_unavailable`
 *   (502)
 */
export async function initAnswers(
  choice: ChatChoice,
  { force, signal, ...place }: SettingsPlace & { readonly force: boolean; readonly signal: AbortSignal },
): Promise<AnswersReport> {
  const file = configFileOf(place.env, place.dataDir);
  const document = await readSettings(place);
  if (document.hasIn(['answers']) && !force) {
    throw conflict(`${file} already has a chat model under "answers"; replace it with --force`, 'answers_exist');
  }
  const settings = { protocol: choice.protocol, base_url: choice.url, model: choice.model };
  const latencyMs = await tryModel(settings, keyOf(choice, place.env), signal);
  const written = choice.keyVariable === null ? settings : { ...settings, api_key: `\${${choice.keyVariable}}` };
  document.setIn(['answers'], document.createNode(written));
  await editSettings(place, document);
  return { file, model: choice.model, latency_ms: latencyMs };
}

function keyOf({ keyVariable }: ChatChoice, env: NodeJS.ProcessEnv): string | null {
  if (keyVariable === null) return null;
  const key = env[keyVariable];
  if (key) return key;
  throw invalidRequest(
    `the variable ${keyVariable} is not set; set it to the API key, and run the command again`,
    'key-variable',
    'key_missing',
  );
}

/** Ask the model one short question. @returns milliseconds until its first word */
export async function askModel(model: VendorChatModel, outputTokensMax: number, signal: AbortSignal): Promise<number> {
  const messages = [{ role: 'user', text: 'Write the word yes.' }] as const;
  const beganMs = performance.now();
  try {
    for await (const part of model.ask({ messages, outputTokensMax }, signal)) {
      if (part.kind === 'text') return Math.round(performance.now() - beganMs);
    }
    throw down(`${model.id} answered without a word`);
  } finally {
    await model.close();
  }
}

async function tryModel(settings: object, key: string | null, signal: AbortSignal): Promise<number> {
  const answers = key === null ? settings : { ...settings, api_key: key };
  const config = loadConfig({ env: {}, overrides: { data_dir: '.', answers } });
  if (config.answers === null) throw new Error('the settings have the chat model that was just put there');
  const model = new VendorChatModel(config.answers, openLogger('silent'), { attempted: () => undefined });
  return askModel(model, config.answers.outputTokensMax, signal);
}
