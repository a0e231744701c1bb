import { z } from 'zod';
import { integerSetting, numberSetting } from './number-settings.ts';
import { baseUrl, secret } from './vendor-fields.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * Setting `answers`: the chat model that answers questions from passages. Without it, the service answers no questions.
 */
const Answers = z.strictObject({
  protocol: z.enum(['openai', 'anthropic']).describe('wire protocol of the chat model'),
  base_url: baseUrl.describe(
    'address of the API, without the path of the operation, such as https://api.openai.com/v1 or https://api.anthropic.com',
  ),
  api_key: secret.optional().describe('API key of the vendor, or a reference to a variable of the environment'),
  model: z.string().min(1).max(200).describe('name of the model at the vendor'),
  output_tokens_max: integerSetting({ min: 50, max: 100_000, default: 1_024 }, 'maximum number of tokens in an answer'),
  passage_tokens_max: integerSetting(
    { min: 200, max: 500_000, default: 6_000 },
    'maximum number of tokens in the passages that are sent with a question',
  ),
  timeout_seconds: numberSetting({ above: 0, max: 600, default: 60 }, 'time limit of one answer'),
  concurrency_max: integerSetting({ min: 1, max: 1_000, default: 64 }, 'maximum number of answers at the same time'),
  concurrency_of_one_max: integerSetting(
    { min: 1, max: 1_000, default: 16 },
    'maximum number of answers of one organization at the same time',
  ),
  keep_days: numberSetting(
    { min: 0, max: 3_650, default: 0 },
    'days for which answers are kept with their passages; 0: answers are not kept',
  ),
  price_per_million_input: z.number().min(0).optional().describe('price of a million tokens of questions and passages'),
  price_per_million_output: z.number().min(0).optional().describe('price of a million tokens of answers'),
});

export const answerSettings = {
  answers: Answers.optional().describe('chat model that answers questions from the passages of a search'),
};

/** Settings of the chat model, with units in names. */
export type AnswerSettings = NonNullable<ReturnType<typeof answerConfigOf>['answers']>;

/** Convert the file's settings to the program's form. */
export function answerConfigOf({ answers }: z.output<z.ZodObject<typeof answerSettings>>) {
  if (answers === undefined) return { answers: null };
  return {
    answers: {
      protocol: answers.protocol,
      baseUrl: answers.base_url.replace(/\/+$/, ''),
      apiKey: answers.api_key ?? null,
      model: answers.model,
      outputTokensMax: answers.output_tokens_max,
      passageTokensMax: answers.passage_tokens_max,
      timeoutMs: answers.timeout_seconds * 1000,
      concurrencyMax: answers.concurrency_max,
      concurrencyOfOneMax: answers.concurrency_of_one_max,
      keptMs: answers.keep_days * DAY_MS,
      pricePerMillionInput: answers.price_per_million_input ?? null,
      pricePerMillionOutput: answers.price_per_million_output ?? null,
    },
  };
}
