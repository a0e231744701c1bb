import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { formatDuration } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import { Button } from '../../ui/controls.tsx';

interface EmbeddingReply {
  readonly data: readonly { readonly embedding: readonly number[] }[];
}

interface TestCallProps {
  readonly model: string;
  readonly isReranker?: boolean;
}

/** Call a model with one word, and describe the time it took and its reply. */
async function callOnce({ model, isReranker }: TestCallProps): Promise<string> {
  const beganMs = performance.now();
  if (isReranker) {
    await call('/v1/rerank', { method: 'POST', json: { model, query: 'test', documents: ['test'] } });
    return t('It answered in {time}.', { time: formatDuration(performance.now() - beganMs) });
  }
  const reply = await call<EmbeddingReply>('/v1/embeddings', { method: 'POST', json: { model, input: 'test' } });
  const time = formatDuration(performance.now() - beganMs);
  return t('It answered in {time} with {count} dimensions.', { time, count: reply.data[0]?.embedding.length ?? 0 });
}

/** Button that calls a model with one word, and shows how long that took or why it failed. */
export function TestCall({ model, isReranker = false }: TestCallProps) {
  const [result, setResult] = useState<string | null>(null);
  const test = useAction(async () => {
    setResult(null);
    setResult(await callOnce({ model, isReranker }));
  });
  if (!mayUse('embed')) return <>–</>;
  return (
    <span class="stack tight">
      <span>
        <Button small isBusy={test.isRunning} aria-label={t('Test {model}', { model })} onClick={() => test.run()}>
          {t('Test')}
        </Button>
      </span>
      <span class="sub" role="status">
        {test.error?.message ?? result}
      </span>
    </span>
  );
}
