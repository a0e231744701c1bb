import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { ModelView, ReembedReply } from '../../types.ts';
import { ActionError, Button, Form, SelectField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts, Panel } from '../../ui/page.tsx';
import { List, Table } from '../../ui/table.tsx';
import { MeaningsCard } from './meanings-card.tsx';
import { type BucketModel, readBucketModels } from './read-bucket-models.ts';
import { RehearsalPanel } from './rehearsal-panel.tsx';

/** Models of the vectors of each bucket, and moving a bucket to another model. */
export function BucketModels({ models }: { models: readonly ModelView[] }) {
  const [moving, setMoving] = useState<BucketModel | null>(null);
  const [rehearsed, setRehearsed] = useState<BucketModel | null>(null);
  const buckets = useResource('bucket models', readBucketModels, ['jobs']);
  return (
    <>
      {buckets.data && <MeaningsCard buckets={buckets.data} models={models} />}
      <Panel title={t('Buckets and their models')}>
        <List of={buckets} empty={t('There are no buckets yet')}>
          {(rows) => (
            <Table
              caption={t('Buckets and their models')}
              rows={rows}
              keyOf={({ name }) => name}
              columns={[
                {
                  title: t('Bucket'),
                  class: 'main',
                  cell: ({ id, name }) => <a href={linkTo('buckets', id)}>{name}</a>,
                },
                { title: t('Model'), cell: ({ model }) => model ?? t('Chosen with the first document') },
                { title: t('Space'), wide: true, cell: ({ space }) => space ?? '–' },
                {
                  title: t('Documents'),
                  numeric: true,
                  wide: true,
                  cell: ({ documents }) => formatNumber(documents),
                },
                {
                  title: t('Change'),
                  cell: (bucket) => changeCell(bucket, { onMove: setMoving, onRehearse: setRehearsed }),
                },
              ]}
            />
          )}
        </List>
        {moving && <MoveDialog bucket={moving} models={models} onClose={() => setMoving(null)} />}
      </Panel>
      {rehearsed && (
        <RehearsalPanel key={rehearsed.id} bucket={rehearsed} models={models} onClose={() => setRehearsed(null)} />
      )}
    </>
  );
}

interface Changes {
  readonly onMove: (bucket: BucketModel) => void;
  readonly onRehearse: (bucket: BucketModel) => void;
}

function changeCell(bucket: BucketModel, { onMove, onRehearse }: Changes) {
  if (bucket.model === null || !mayUse('buckets:manage')) return '–';
  return (
    <div class="row">
      <Button small aria-label={t('Rehearse {name}', { name: bucket.name })} onClick={() => onRehearse(bucket)}>
        {t('Rehearse')}
      </Button>
      <Button small onClick={() => onMove(bucket)}>
        {t('Move to another model')}
      </Button>
    </div>
  );
}

/** Dialog to choose a model, preview the move, and follow its job. */
function MoveDialog({
  bucket,
  models,
  onClose,
}: {
  bucket: BucketModel;
  models: readonly ModelView[];
  onClose: () => void;
}) {
  const choices = models.filter(({ id, available }) => available && id !== bucket.model);
  const [model, setModel] = useState(choices[0]?.id ?? '');
  const [plan, setPlan] = useState<ReembedReply | null>(null);
  const send = (dryRun: boolean) =>
    call<ReembedReply>(pathOf('v1', 'buckets', bucket.name, 'reembed'), {
      method: 'POST',
      json: { model, dry_run: dryRun },
    });
  const show = useAction(async () => setPlan(await send(true)));
  const start = useAction(async () => {
    const { job_id } = await send(false);
    if (job_id === null) onClose();
    else navigate(linkTo('jobs', job_id));
  });
  const isShown = plan !== null && plan.model === model;
  return (
    <Dialog title={t('Move {name} to another model', { name: bucket.name })} onClose={onClose}>
      <Form onSubmit={() => (isShown ? start.run() : show.run())}>
        <SelectField
          label={t('Model')}
          value={model}
          options={choices.map(({ id }) => ({ value: id, label: id }))}
          onValue={setModel}
        />
        {isShown && <PlanFacts plan={plan} />}
        <ActionError error={show.error ?? start.error} />
        <div class="form-actions">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button type="submit" look="primary" isBusy={show.isRunning || start.isRunning} disabled={model === ''}>
            {isShown ? t('Start') : t('Show what it would change')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function PlanFacts({ plan }: { plan: ReembedReply }) {
  return (
    <div class="stack">
      <p>{t('Searches use the present vectors until the job is done.')}</p>
      <Facts
        of={[
          [t('From'), plan.from_model],
          [t('To'), `${plan.model} · ${plan.space}`],
          [t('Documents'), formatNumber(plan.documents)],
          [t('Chunks'), formatNumber(plan.chunks)],
          [t('Sent to the provider'), formatNumber(plan.texts)],
          [t('Tokens'), formatNumber(plan.tokens)],
          [t('Cost'), String(plan.estimated_cost)],
        ]}
      />
    </div>
  );
}
