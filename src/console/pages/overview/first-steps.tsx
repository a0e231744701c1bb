import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { linkTo } from '../../lib/router.ts';
import type { Overview } from '../../types.ts';
import { ActionError, Button } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';

interface Demo {
  readonly bucket: string;
  readonly documents: number;
  readonly questions: readonly string[];
}

/**
 * First steps of an organization without documents: upload some, or load the sample documents. The sample questions
 * stay while the page is open.
 */
export function FirstSteps({ documents }: { documents: Overview['documents'] }) {
  const [demo, setDemo] = useState<Demo | null>(null);
  const load = useAction(async () => setDemo(await call<Demo>('/v1/demo', { method: 'POST' })));
  const counts = Object.values(documents.by_status);
  if (demo !== null) return <Questions of={demo} ready={documents.by_status.ready ?? 0} />;
  if (counts.some((count) => count > 0)) return null;
  return (
    <Panel title={t('First steps')} padded>
      <div class="stack">
        <p>{t('Upload your documents, or load a small handbook in English and Korean to try the search.')}</p>
        <ActionError error={load.error} />
        <div class="row">
          <a class="button primary" href={linkTo('documents')}>
            {t('Upload documents')}
          </a>
          <Button isBusy={load.isRunning} onClick={() => load.run()}>
            {t('Load sample documents')}
          </Button>
        </div>
      </div>
    </Panel>
  );
}

/** @param ready number of searchable documents; the organization has no others */
function Questions({ of: { bucket, documents, questions }, ready }: { of: Demo; ready: number }) {
  return (
    <Panel title={t('Ask the sample documents')} padded>
      <div class="stack">
        <p role="status">
          {ready < documents
            ? t('{ready} of {count|document is|documents are} ready.', { ready, count: documents })
            : t('The documents are ready. Ask one of these questions:')}
        </p>
        <ul class="link-list">
          {questions.map((query) => (
            <li key={query}>
              <a href={`${linkTo('search')}?${new URLSearchParams({ bucket, q: query })}`}>{query}</a>
            </li>
          ))}
        </ul>
        <p class="faint">{t('To take them away, delete the bucket "demo".')}</p>
      </div>
    </Panel>
  );
}
