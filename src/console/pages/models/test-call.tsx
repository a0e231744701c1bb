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

/** Button that embeds one word by a model, and shows how long that took or why it failed. */
export function TestCall({ model }: { model: string }) {
  const [result, setResult] = useState<string | null>(null);
  const test = useAction(async () => {
    setResult(null);
    const beganMs = performance.now();
    const reply = await call<EmbeddingReply>('/v1/embeddings', { method: 'POST', json: { model, input: 'test' } });
    const time = formatDuration(performance.now() - beganMs);
    setResult(
      t('It answered in {time} with {count} dimensions.', { time, count: reply.data[0]?.embedding.length ?? 0 }),
    );
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
