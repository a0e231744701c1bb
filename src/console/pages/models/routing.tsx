import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import type { ModelView, RoutingView } from '../../types.ts';
import { ActionError, Button, Form, SelectField, Warnings } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts, Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { type BucketModel, readBucketModels } from './read-bucket-models.ts';

/** Model for requests that name none, and its fallback. */
export function RoutingPanel({ models }: { models: readonly ModelView[] }) {
  const routing = useResource('routing', (signal) => call<RoutingView>('/v1/routing', { signal }));
  return (
    <Panel title={t('Routing')} padded>
      <Loaded of={routing}>
        {(shown) => <RoutingForm key={shown.updated_at} routing={shown} models={models} onSaved={routing.refresh} />}
      </Loaded>
    </Panel>
  );
}

interface Wanted {
  readonly primary: string;
  readonly fallback: string;
}

function RoutingForm({
  routing,
  models,
  onSaved,
}: {
  routing: RoutingView;
  models: readonly ModelView[];
  onSaved: () => void;
}) {
  const [primary, setPrimary] = useState(routing.primary);
  const [fallback, setFallback] = useState(routing.mode === 'fallback' ? (routing.fallback ?? '') : '');
  const [preview, setPreview] = useState<readonly BucketModel[] | null>(null);
  const show = useAction(async () => setPreview(await readBucketModels()));
  const options = models.map(({ id, available }) => ({
    value: id,
    label: available ? id : `${id} (${t('No provider')})`,
  }));
  const isChanged =
    primary !== routing.primary || fallback !== (routing.mode === 'fallback' ? (routing.fallback ?? '') : '');
  if (!mayUse('routing:manage')) return <RoutingFacts routing={routing} />;
  return (
    <Form onSubmit={() => show.run()} aria-label={t('Routing')}>
      <div class="form-grid">
        <SelectField
          label={t('Primary model')}
          hint={t('For requests that name no model.')}
          value={primary}
          options={options}
          onValue={setPrimary}
        />
        <SelectField
          label={t('Fallback')}
          hint={t('Used when the provider of the primary model fails.')}
          value={fallback}
          options={[{ value: '', label: t('None') }, ...options]}
          onValue={setFallback}
        />
      </div>
      <Warnings of={routing.warnings} />
      <ActionError error={show.error} />
      <div class="form-actions">
        <Button type="submit" look="primary" isBusy={show.isRunning} disabled={!isChanged}>
          {t('Show what it would change')}
        </Button>
      </div>
      {preview && (
        <RoutingDialog
          wanted={{ primary, fallback }}
          before={routing}
          buckets={preview}
          models={models}
          onClose={() => setPreview(null)}
          onSaved={onSaved}
        />
      )}
    </Form>
  );
}

function RoutingFacts({ routing }: { routing: RoutingView }) {
  return (
    <Facts
      of={[
        [t('Primary model'), routing.primary],
        [t('Fallback'), routing.mode === 'fallback' ? (routing.fallback ?? t('None')) : t('None')],
        [t('Changed'), routing.updated_at === null ? '–' : formatTime(routing.updated_at)],
      ]}
    />
  );
}

interface DialogProps {
  readonly wanted: Wanted;
  readonly before: RoutingView;
  readonly buckets: readonly BucketModel[];
  readonly models: readonly ModelView[];
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** Effects of a new routing, before it is stored. */
function RoutingDialog({ wanted, before, buckets, models, onClose, onSaved }: DialogProps) {
  const save = useAction(async () => {
    const { primary, fallback } = wanted;
    const json = fallback === '' ? { primary, mode: 'single' } : { primary, fallback, mode: 'fallback' };
    await call<RoutingView>('/v1/routing', { method: 'PUT', json });
    toast(t('Saved'));
    onClose();
    onSaved();
  });
  return (
    <Dialog title={t('What it would change')} onClose={onClose}>
      <ul class="stack tight">
        {effectsOf(wanted, before, buckets, models).map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
      <ActionError error={save.error} />
      <div class="form-actions">
        <Button onClick={onClose}>{t('Cancel')}</Button>
        <Button look="primary" isBusy={save.isRunning} onClick={() => save.run()}>
          {t('Change the routing')}
        </Button>
      </div>
    </Dialog>
  );
}

function effectsOf(
  wanted: Wanted,
  before: RoutingView,
  buckets: readonly BucketModel[],
  models: readonly ModelView[],
): string[] {
  const { primary, fallback } = wanted;
  const stored = buckets.filter(({ model }) => model !== null);
  const empty = buckets.length - stored.length;
  const effects = [
    ...(primary === before.primary
      ? [t('Requests that name no model stay with {model}.', { model: primary })]
      : [
          t('Requests that name no model go to {model} instead of {before}.', {
            model: primary,
            before: before.primary,
          }),
        ]),
    fallback === '' ? t('There is no fallback.') : t('If its provider fails, {model} takes over.', { model: fallback }),
    t(
      '{count|bucket with documents keeps its model|buckets with documents keep their models}; no vector is made anew.',
      { count: stored.length },
    ),
    ...(empty === 0
      ? []
      : [
          t('{count|empty bucket gets|empty buckets get} {model} with the first document.', {
            count: empty,
            model: primary,
          }),
        ]),
  ];
  const modelOf = (id: string) => models.find((model) => model.id === id);
  const [first, second] = [modelOf(primary), modelOf(fallback)];
  if (first?.available === false)
    effects.push(t('No provider is configured for {model}: its requests fail.', { model: primary }));
  if (second?.available === false)
    effects.push(t('No provider is configured for {model}: its requests fail.', { model: fallback }));
  if (first && second && (first.space === null || first.space !== second.space)) {
    effects.push(t('Vectors of the two models cannot be compared; calibrate both first.'));
  }
  return effects;
}
