import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import { type Outcome, runEach } from '../../lib/run-each.ts';
import { mayUse } from '../../lib/session.ts';
import type { JobView, ModelView, ReembedReply, RoutingView } from '../../types.ts';
import { ActionError, Button, Notice } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts, Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import type { BucketModel } from './read-bucket-models.ts';

/** Built-in model that matches words. */
const LEXICAL = 'local/lexical-1';
/** Alias. A built-in model serves it if there is no vendor. */
const ALIAS = 'service-embed-1-small';
/** Built-in model that matches meanings. */
const SEMANTIC = 'local/semantic-1';

/** Return true if the lexical model is the default model. Keep a chosen vendor. */
function matchesWords({ primary }: RoutingView, models: readonly ModelView[]): boolean {
  const space = (id: string) => models.find((model) => model.id === id)?.space;
  return primary === LEXICAL || (primary === ALIAS && space(ALIAS) === space(LEXICAL));
}

/** Card that offers to move the lexical buckets to the built-in semantic model. */
export function MeaningsCard({ buckets, models }: { buckets: readonly BucketModel[]; models: readonly ModelView[] }) {
  const [isAsking, setIsAsking] = useState(false);
  const byWords = buckets.filter(({ model }) => model === LEXICAL);
  const isThere = models.some(({ id, available }) => id === SEMANTIC && available);
  const isAllowed = mayUse('buckets:manage') && mayUse('routing:manage');
  const isDue = byWords.length > 0 && isThere && isAllowed;
  const moving = useResource(isDue ? 'moves to meanings' : null, readMoving, ['jobs']);
  // A user who can't see the jobs learns about them when a second one is refused.
  if (!isDue || (moving.data === null && moving.error === null)) return null;
  const left = byWords.filter(({ id }) => !moving.data?.has(id));
  return (
    <Panel title={t('Search by meaning')} padded>
      <div class="stack">
        {left.length < byWords.length && (
          <p>
            <a href={linkTo('jobs')}>
              {t('{count|bucket is|buckets are} on the way to {model}.', {
                count: byWords.length - left.length,
                model: SEMANTIC,
              })}
            </a>
          </p>
        )}
        {left.length > 0 && <Offer count={left.length} onMove={() => setIsAsking(true)} />}
      </div>
      {isAsking && <MoveAllDialog buckets={left} models={models} onClose={() => setIsAsking(false)} />}
    </Panel>
  );
}

function Offer({ count, onMove }: { count: number; onMove: () => void }) {
  return (
    <>
      <p>
        {t(
          '{count|bucket matches|buckets match} words only; the built-in model {model} also matches meanings, in about 40 languages and across them.',
          { count, model: SEMANTIC },
        )}
      </p>
      <div class="row">
        <Button look="primary" onClick={onMove}>
          {t('Move the buckets')}
        </Button>
      </div>
    </>
  );
}

/** States in which a job embeds a bucket, or waits to do so. */
const UNFINISHED = ['queued', 'embedding'];
const JOBS_MAX = 200;

/** Read the ids of the buckets that unfinished recent jobs are moving to the model. */
async function readMoving(signal: AbortSignal): Promise<ReadonlySet<string>> {
  const jobs = await Promise.all(
    UNFINISHED.map((status) => call<readonly JobView[]>('/v1/jobs', { query: { status, limit: JOBS_MAX }, signal })),
  );
  const moves = jobs
    .flat()
    .filter(
      ({ processing_type, metadata_snapshot }) =>
        processing_type === 'bucket_reembed' && metadata_snapshot?.['model'] === SEMANTIC,
    );
  return new Set(moves.map(({ bucket_id }) => bucket_id));
}

interface Preview {
  readonly routing: RoutingView;
  /** Plan of each bucket, by its id. */
  readonly plans: ReadonlyMap<string, ReembedReply>;
  readonly refused: Outcome<BucketModel>['failed'];
}

const reembed = (bucket: BucketModel, dryRun: boolean, signal?: AbortSignal) =>
  call<ReembedReply>(pathOf('v1', 'buckets', bucket.id, 'reembed'), {
    method: 'POST',
    json: { model: SEMANTIC, dry_run: dryRun },
    signal,
  });

async function readPreview(buckets: readonly BucketModel[], signal: AbortSignal): Promise<Preview> {
  const routing = await call<RoutingView>('/v1/routing', { signal });
  const plans = new Map<string, ReembedReply>();
  const { failed } = await runEach(
    buckets,
    async (bucket) => plans.set(bucket.id, await reembed(bucket, true, signal)),
    () => signal.throwIfAborted(),
  );
  return { routing, plans, refused: failed };
}

/** Dialog that asks before moving all buckets, with their numbers of chunks. */
function MoveAllDialog({
  buckets: all,
  models,
  onClose,
}: {
  buckets: readonly BucketModel[];
  models: readonly ModelView[];
  onClose: () => void;
}) {
  // A reload of the list doesn't change what the user agrees to.
  const [buckets] = useState(all);
  const preview = useResource('plan of the move', (signal) => readPreview(buckets, signal));
  return (
    <Dialog title={t('Move the buckets to {model}?', { model: SEMANTIC })} onClose={onClose}>
      <Loaded of={preview}>{(shown) => <Plan of={shown} buckets={buckets} models={models} onClose={onClose} />}</Loaded>
    </Dialog>
  );
}

function Plan({
  of: { routing, plans, refused },
  buckets,
  models,
  onClose,
}: {
  of: Preview;
  buckets: readonly BucketModel[];
  models: readonly ModelView[];
  onClose: () => void;
}) {
  const [due, setDue] = useState(buckets.filter(({ id }) => plans.has(id)));
  const [failed, setFailed] = useState(refused);
  const takesOver = matchesWords(routing, models);
  const move = useAction(async () => {
    if (takesOver) await makePrimary(routing);
    const outcome = await runEach(
      due,
      (bucket) => reembed(bucket, false),
      () => {},
    );
    if (outcome.failed.length === 0) return navigate(linkTo('jobs'));
    setDue(outcome.failed.map(({ row }) => row));
    setFailed(outcome.failed);
  });
  return (
    <div class="stack">
      <p>{t('The service queues a job for each bucket. Searches use the present vectors until the job is done.')}</p>
      {takesOver && (
        <p>
          {t('Requests that name no model go to {model} instead of {before}.', {
            model: SEMANTIC,
            before: routing.primary,
          })}
        </p>
      )}
      <Facts of={due.map(({ id, name }) => [name, t('{count|chunk|chunks}', { count: plans.get(id)?.chunks ?? 0 })])} />
      {failed.length > 0 && (
        <Notice tone="warn" title={t('These buckets stay as they are')}>
          <ul class="stack tight">
            {failed.map(({ row, error }) => (
              <li key={row.id}>
                {row.name}: {error.message}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <ActionError error={move.error} />
      <div class="form-actions">
        <Button onClick={onClose}>{t('Cancel')}</Button>
        <Button look="primary" isBusy={move.isRunning} disabled={due.length === 0} onClick={() => move.run()}>
          {t('Move the buckets')}
        </Button>
      </div>
    </div>
  );
}

/** Make the model the primary one, and keep the fallback. */
async function makePrimary({ fallback, mode }: RoutingView): Promise<void> {
  const keepsFallback = mode === 'fallback' && fallback !== null && fallback !== SEMANTIC;
  const json = keepsFallback ? { primary: SEMANTIC, fallback, mode } : { primary: SEMANTIC, mode: 'single' };
  await call<RoutingView>('/v1/routing', { method: 'PUT', json });
}
