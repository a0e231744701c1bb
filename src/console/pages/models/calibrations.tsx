import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { formatAgo, formatNumber, formatScore } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useAction, useResource } from '../../lib/resource.ts';
import type { CalibrationView, ModelView } from '../../types.ts';
import { ActionError, Button, SelectField } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';

const ADDRESS = '/v1/projections/calibrations';
/** Polling interval of the progress while the page is visible. */
const REFRESH_MS = 2_000;

interface CalibrationsProps {
  readonly models: readonly ModelView[];
  /** Called when the calibration of a model has ended. */
  readonly onEnd: () => void;
}

/** Calibrations in progress, and the choice of a model to calibrate, for operators. */
export function Calibrations({ models, onEnd }: CalibrationsProps) {
  const calibrations = useResource('calibrations', (signal) => call<Page<CalibrationView>>(ADDRESS, { signal }), [
    'providers',
  ]);
  const { refreshQuietly, data } = calibrations;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refreshQuietly(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [refreshQuietly]);
  const count = data?.data.length ?? 0;
  // A successful calibration leaves the list.
  const before = useRef(count);
  useEffect(() => {
    if (count < before.current) onEnd();
    before.current = count;
  }, [count, onEnd]);
  return (
    <Panel title={t('Calibrate a model')} padded>
      <CalibrateForm models={models} onStarted={calibrations.refresh} />
      <Loaded of={calibrations}>{(list) => (list.data.length === 0 ? null : <List rows={list.data} />)}</Loaded>
    </Panel>
  );
}

function CalibrateForm({ models, onStarted }: { models: readonly ModelView[]; onStarted: () => void }) {
  const open = models.filter(({ kind, available, calibrated }) => kind === 'semantic' && available && !calibrated);
  const [chosen, setChosen] = useState('');
  const model = open.find(({ id }) => id === chosen) ?? open[0];
  const start = useAction(async () => {
    await call(ADDRESS, { method: 'POST', json: { model: model?.id } });
    onStarted();
  });
  if (model === undefined) return <p class="quiet">{t('Every model that embeds by meaning is calibrated.')}</p>;
  return (
    <div class="stack">
      <p class="quiet">
        {t('The model embeds sample texts, for which its vendor may ask a price. Its vectors can then be compared.')}
      </p>
      <SelectField
        label={t('Model')}
        value={model.id}
        options={open.map(({ id }) => ({ value: id, label: id }))}
        onValue={setChosen}
      />
      <ActionError error={start.error} />
      <div>
        <Button look="primary" isBusy={start.isRunning} onClick={() => start.run()}>
          {t('Calibrate')}
        </Button>
      </div>
    </div>
  );
}

function List({ rows }: { rows: readonly CalibrationView[] }) {
  return (
    <ul class="stack" aria-label={t('Calibrations')}>
      {rows.map((row) => (
        <li key={row.model} class="stack tight">
          <span class="row">
            <strong>{row.model}</strong>
            <Status of={row.state === 'wanted' ? 'queued' : row.state} />
          </span>
          <Detail of={row} />
        </li>
      ))}
    </ul>
  );
}

function Detail({ of: row }: { of: CalibrationView }) {
  const { model, state, texts_done: done, texts_total: total, score, reason, retry_at: retryAt } = row;
  if (state === 'calibrating' && total > 0) {
    return (
      <span>
        <progress value={done} max={total} aria-label={t('Progress of {name}', { name: model })} />{' '}
        {`${formatNumber(done)} / ${formatNumber(total)}`}
      </span>
    );
  }
  if (state === 'apart' && score !== null) {
    return <span>{t('The held-out score {score} is too low.', { score: formatScore(score) })}</span>;
  }
  if (state !== 'failed') return null;
  const isLater = retryAt !== null && Date.parse(retryAt) > Date.now();
  return (
    <>
      <span>{reason}</span>
      {isLater && <span class="quiet">{t('It is tried again {time}.', { time: formatAgo(retryAt) })}</span>}
    </>
  );
}
