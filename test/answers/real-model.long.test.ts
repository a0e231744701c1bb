import { expect, it } from 'vitest';
import { MANUAL } from '../support/answers.ts';
import { openTestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { startSmallChatModel } from '../support/small-chat-model.ts';

// A real chat model, of 135 million parameters, behind a real server. It knows little and follows few rules, so that the
// test looks at the way of an answer, not at its truth.

it('a small chat model of this host answers, is counted, and cites only passages that it was given', {
  timeout: 300_000,
}, async ({ skip }) => {
  const model = await startSmallChatModel();
  if (model === null) return skip('there is no chat model');
  const answers = { protocol: 'openai', base_url: model.url, model: model.model, output_tokens_max: 100 };
  const test = await openTestApi({ settings: { answers: { ...answers, timeout_seconds: 240 } } });
  try {
    await ingestAll(test.appliance, test.operator, 'default', MANUAL);
    const key = await test.key({ scopes: ['search'] });
    const json = { buckets: ['default'], query: 'how many volts does the pump need?', top_k: 2 };
    const { status, body } = await test.call('POST', '/v1/answers', { key, json });
    expect([status, body.model]).toEqual([200, model.model]);
    expect(body.answer).toMatch(/\w{3}/);
    expect(body.usage.input_tokens).toBeGreaterThan(150);
    expect(body.usage.output_tokens).toBeGreaterThan(3);
    const cited = body.sentences.flatMap(({ citations }: { citations: number[] }) => citations);
    expect(cited.filter((number: number) => number > body.passages.length)).toEqual([]);
  } finally {
    await test.close();
    await model.close();
  }
});
