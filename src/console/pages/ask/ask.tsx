import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../lib/i18n.ts';
import { installation } from '../../lib/installation.ts';
import { readList, useBuckets } from '../../lib/lists.ts';
import { useOnceLoaded, useResource } from '../../lib/resource.ts';
import { linkTo, navigate, type PageProps } from '../../lib/router.ts';
import { useStore } from '../../lib/store.ts';
import type { AssistantView } from '../../types.ts';
import { Button, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { askQuestion, historyOf, type Turn } from './conversation.ts';
import { TurnView } from './turn.tsx';

/** Page `/console/ask`: a conversation with a bucket or an assistant, whose answers show their sources. */
export default function AskPage({ place }: PageProps) {
  const facts = useStore(installation);
  return (
    <div class="page">
      <PageHeader title={t('Ask')}>
        {t('Ask a question, and get an answer with the passages that it rests on.')}
      </PageHeader>
      {facts?.answers === false ? (
        <Panel>
          <Empty title={t('No chat model is set')}>
            {t('The operator sets one by the command “service init answers”. Until then, search for passages.')}
          </Empty>
        </Panel>
      ) : (
        <Conversation chosen={place.query.get('of') ?? ''} />
      )}
    </div>
  );
}

/** @param chosen bucket or assistant in the URL, such as `bucket/manuals`; empty for the first one */
function Conversation({ chosen }: { chosen: string }) {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [question, setQuestion] = useState('');
  const running = useRef<AbortController | null>(null);
  const buckets = useBuckets();
  const options = useOptions(buckets.data ?? []);
  const target = chosen || options[0]?.value || '';
  const isBusy = turns.at(-1)?.isWriting === true;
  useEffect(() => () => running.current?.abort(), []);
  const ask = useOnceLoaded(buckets, async () => {
    const asked = question.trim();
    if (asked === '' || target === '' || isBusy) return;
    const abort = new AbortController();
    running.current = abort;
    setQuestion('');
    const history = historyOf(turns);
    await askQuestion({ target, question: asked, history }, abort.signal, (turn) =>
      setTurns((before) => [...before.filter(({ id }) => id !== turn.id), turn]),
    );
  });
  const startAnew = (next: string) => {
    running.current?.abort();
    setTurns([]);
    navigate(`${linkTo('ask')}?${new URLSearchParams({ of: next })}`);
  };
  return (
    <>
      {turns.length > 0 && (
        <ol class="turns" aria-live="polite" aria-busy={isBusy} aria-label={t('Conversation')}>
          {turns.map((turn) => (
            <TurnView key={turn.id} turn={turn} />
          ))}
        </ol>
      )}
      <div class="panel padded">
        <Form onSubmit={ask}>
          <div class="query-row">
            <SelectField label={t('Answer from')} value={target} options={options} onValue={startAnew} />
            <TextField
              label={t('Question')}
              maxLength={8000}
              autocomplete="off"
              value={question}
              onValue={setQuestion}
            />
            {isBusy ? (
              <Button icon="close" onClick={() => running.current?.abort()}>
                {t('Stop')}
              </Button>
            ) : (
              <Button type="submit" look="primary" icon="ask">
                {t('Ask')}
              </Button>
            )}
          </div>
          {turns.length > 0 && !isBusy && (
            <div>
              <Button small look="quiet" icon="refresh" onClick={() => startAnew(target)}>
                {t('New conversation')}
              </Button>
            </div>
          )}
        </Form>
      </div>
    </>
  );
}

/** List the buckets and assistants that the user can ask. */
function useOptions(buckets: readonly { readonly name: string }[]) {
  const assistants = useResource('assistants of answers', (signal) =>
    readList<AssistantView>('/v1/assistants', signal),
  );
  const optionsOf = (kind: string, rows: readonly { readonly name: string }[]) =>
    rows.map(({ name }) => ({ value: `${kind}/${name}`, label: name }));
  return [...optionsOf('bucket', buckets), ...optionsOf('assistant', assistants.data ?? [])];
}
