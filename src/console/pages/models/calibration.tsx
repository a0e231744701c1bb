import { call } from '../../lib/api.ts';
import { formatAgo, formatNumber, formatScore } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useResource } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import type { MapDetails, ModelView, ScoreMatrix } from '../../types.ts';
import { Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { Calibrations } from './calibrations.tsx';

/** Matrix of models that can search each other, with the score of each map on held-out texts. */
export function Calibration({ models, onCalibrated }: { models: readonly ModelView[]; onCalibrated: () => void }) {
  const matrix = useResource('matrix', (signal) => call<ScoreMatrix>('/v1/projections/matrix', { signal }), [
    'providers',
  ]);
  const maps = useResource('projections', (signal) => call<Page<MapDetails>>('/v1/projections', { signal }), [
    'providers',
  ]);
  const refresh = () => {
    onCalibrated();
    matrix.refreshQuietly();
    maps.refreshQuietly();
  };
  return (
    <>
      {mayUse('platform_admin') && <Calibrations models={models} onEnd={refresh} />}
      <Panel title={t('What can be compared with what')}>
        <Loaded of={matrix}>{(shown) => <Matrix matrix={shown} />}</Loaded>
      </Panel>
      <Panel title={t('Maps into the canonical space')}>
        <Loaded of={maps}>{({ data }) => <Maps maps={data} />}</Loaded>
      </Panel>
    </>
  );
}

function Matrix({ matrix: { models, cells, reference_model: reference, dimensions } }: { matrix: ScoreMatrix }) {
  if (models.length === 0) {
    return (
      <Empty title={t('No model has been calibrated')}>
        {t('service serve calibrates the models in use by itself; service projections fit does it with your texts.')}
      </Empty>
    );
  }
  const cellOf = (query: string, documents: string) =>
    cells.find((cell) => cell.query_model === query && cell.document_model === documents)?.recall_at_1 ?? null;
  return (
    <>
      <div class="table-scroll">
        <table class="table matrix">
          <caption class="hidden-visually">{t('What can be compared with what')}</caption>
          <thead>
            <tr>
              <th scope="col">{t('Query by, documents by')}</th>
              {models.map(({ model }) => (
                <th key={model} scope="col">
                  {model}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {models.map(({ model: query }) => (
              <tr key={query}>
                <th scope="row">{query === reference ? t('{model} (reference)', { model: query }) : query}</th>
                {models.map(({ model }) => (
                  <MatrixCell key={model} score={model === query ? 1 : cellOf(query, model)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="panel-body faint">
        {t(
          'Share of held-out texts that a search across the two models finds first, at {dimensions} dimensions. A dash: only the way over the reference model was measured.',
          { dimensions },
        )}
      </p>
    </>
  );
}

const GOOD = 0.95;
const USABLE = 0.9;

function MatrixCell({ score }: { score: number | null }) {
  if (score === null) return <td class="cell quiet">–</td>;
  const grade = score >= GOOD ? 'good' : score >= USABLE ? 'warn' : 'bad';
  return <td class={`cell ${grade}`}>{score === 1 ? '1' : formatScore(score)}</td>;
}

function Maps({ maps }: { maps: readonly MapDetails[] }) {
  if (maps.length === 0) {
    return <Empty title={t('There are no maps yet')} />;
  }
  return (
    <Table
      caption={t('Maps into the canonical space')}
      rows={maps}
      keyOf={({ model, version }) => `${model} ${version}`}
      columns={[
        {
          title: t('Model'),
          class: 'main',
          cell: ({ model, version }) => `${model} · ${t('version {number}', { number: version })}`,
        },
        { title: t('State'), cell: ({ status }) => <Status of={status} /> },
        { title: t('Grade'), wide: true, cell: ({ grade }) => <Status of={grade} /> },
        { title: t('Held-out score'), numeric: true, cell: ({ score }) => formatScore(score) },
        { title: t('Pairs'), numeric: true, wide: true, cell: ({ pairs }) => formatNumber(pairs) },
        { title: t('Created'), wide: true, class: 'nowrap', cell: ({ created_at }) => formatAgo(created_at) },
      ]}
    />
  );
}
