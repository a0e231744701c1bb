import { useMemo, useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatPercent } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useResource } from '../../lib/resource.ts';
import { linkTo, type PageProps } from '../../lib/router.ts';
import type { BucketMap } from '../../types.ts';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { QuerySelect } from '../../ui/query-select.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { type Point, Scatter } from './scatter.tsx';

const SAMPLES = ['100', '500', '1000'];
const LISTED_MAX = 20;

/** Page `/console/map`: a sample of a bucket's chunks in two dimensions. */
export default function MapPage({ place }: PageProps) {
  const buckets = useBuckets();
  const names = (buckets.data ?? []).map(({ name }) => name);
  const bucket = place.query.get('bucket') ?? names[0] ?? '';
  const sample = SAMPLES.find((each) => each === place.query.get('sample')) ?? '500';
  const map = useResource(bucket === '' ? null : `map ${bucket} ${sample}`, (signal) =>
    call<BucketMap>(pathOf('v1', 'buckets', bucket, 'map'), { query: { sample }, signal }),
  );
  const choices = (
    <>
      <QuerySelect
        label={t('Bucket')}
        parameter="bucket"
        value={bucket}
        options={names.map((name) => ({ value: name, label: name }))}
      />
      <QuerySelect
        label={t('Sample')}
        parameter="sample"
        value={sample}
        options={SAMPLES.map((each) => ({ value: each, label: t('{count|chunk|chunks}', { count: Number(each) }) }))}
      />
    </>
  );
  return (
    <div class="page">
      <PageHeader title={t('Map')} actions={choices}>
        {t('Chunks that mean similar things are near each other. The map is a projection of their vectors.')}
      </PageHeader>
      <Panel>
        {bucket === '' && buckets.data ? (
          <Empty title={t('There are no buckets yet')} />
        ) : (
          <Loaded of={map}>{(shown) => <MapView map={shown} />}</Loaded>
        )}
      </Panel>
    </div>
  );
}

function MapView({ map }: { map: BucketMap }) {
  const [chosen, setChosen] = useState<Point | null>(null);
  const documents = useMemo(() => [...new Set(map.points.map(({ document_id }) => document_id))], [map]);
  if (map.points.length === 0)
    return <Empty title={t('This bucket is empty')}>{t('The map appears when documents are processed.')}</Empty>;
  const near = chosen === null ? map.points.slice(0, LISTED_MAX) : nearest(map.points, chosen);
  return (
    <>
      <div class="panel-body stack">
        <span class="faint">
          {[
            map.model,
            map.space,
            t('{count|document|documents}', { count: documents.length }),
            t('shows {share} of the variance', {
              share: formatPercent(map.explained.reduce((sum, share) => sum + share, 0)),
            }),
          ]
            .filter(Boolean)
            .join(' · ')}
        </span>
        <Scatter points={map.points} groups={documents} chosen={chosen} onChoose={setChosen} />
      </div>
      <Table
        caption={t('Chunks')}
        rows={near}
        keyOf={({ chunk_id }) => chunk_id}
        columns={[
          {
            title: chosen === null ? t('Chunks') : t('Nearest on the map'),
            cell: ({ document_id, chunk_index, file_name, excerpt }) => (
              <>
                <a class="main" href={`${linkTo('documents', document_id)}#${chunk_index}`}>
                  {file_name}
                </a>
                <span class="sub">{excerpt}</span>
              </>
            ),
          },
          {
            title: t('Show'),
            numeric: true,
            cell: (point) => (
              <button
                type="button"
                class="button small quiet"
                aria-pressed={chosen?.chunk_id === point.chunk_id}
                onClick={() => setChosen(point)}
              >
                {t('On the map')}
              </button>
            ),
          },
        ]}
      />
    </>
  );
}

function nearest(points: readonly Point[], to: Point): readonly Point[] {
  const distance = ({ x, y }: Point) => (x - to.x) ** 2 + (y - to.y) ** 2;
  return points.toSorted((a, b) => distance(a) - distance(b)).slice(0, LISTED_MAX);
}
