import { call } from '../../lib/api.ts';
import { formatNumber, formatScore } from '../../lib/format.ts';
import { type Message, t, translateName } from '../../lib/i18n.ts';
import { type Page, useResource } from '../../lib/resource.ts';
import { linkTo, type PageProps } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { ModelView, Scope } from '../../types.ts';
import { PageHeader, Panel, Tabs } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { BucketModels } from './bucket-models.tsx';
import { Calibration } from './calibration.tsx';
import { LocalModels } from './local-models.tsx';
import { RoutingPanel } from './routing.tsx';
import { Vendors } from './vendors.tsx';

const PARTS = [
  { part: '', label: 'Catalog' },
  { part: 'vendors', label: 'Vendors' },
  { part: 'local', label: 'On this host', scope: 'platform_admin' },
  { part: 'routing', label: 'Routing' },
  { part: 'calibration', label: 'Calibration' },
  { part: 'buckets', label: 'Buckets and their models' },
] as const satisfies readonly { part: string; label: Message; scope?: Scope }[];

/** Page `/console/models`, and its parts: routing, calibration, and the models of buckets. */
export default function ModelsPage({ parameters }: PageProps) {
  const current = parameters[0] ?? '';
  const models = useResource('models', (signal) => call<Page<ModelView>>('/v1/models', { signal }), ['providers']);
  return (
    <div class="page">
      <PageHeader title={t('Models')}>
        {t('What turns texts into vectors, and which vectors can be compared.')}
      </PageHeader>
      <Tabs
        label={t('Models')}
        tabs={PARTS.filter((tab) => !('scope' in tab) || mayUse(tab.scope)).map(({ part, label }) => ({
          label: t(label),
          href: part === '' ? linkTo('models') : linkTo('models', part),
          isCurrent: part === current,
        }))}
      />
      <Loaded of={models}>
        {({ data }) => {
          const requested = data.filter(({ kind }) => kind !== 'answers');
          const embedding = requested.filter(({ kind }) => kind !== 'reranker');
          if (current === 'vendors') return <Vendors />;
          if (current === 'local') return <LocalModels onChange={models.refreshQuietly} />;
          if (current === 'routing') return <RoutingPanel models={embedding} />;
          if (current === 'calibration') return <Calibration models={embedding} onCalibrated={models.refreshQuietly} />;
          if (current === 'buckets') return <BucketModels models={embedding} />;
          return <Catalog models={requested} />;
        }}
      </Loaded>
    </div>
  );
}

function Catalog({ models }: { models: readonly ModelView[] }) {
  if (models.length === 0) return <Empty title={t('There are no models')} />;
  return (
    <Panel>
      <Table
        caption={t('Catalog')}
        rows={models}
        keyOf={({ id }) => id}
        columns={[
          {
            title: t('Model'),
            cell: ({ id, owned_by }) => (
              <>
                <span class="main">{id}</span>
                <span class="sub">{vendorName(owned_by)}</span>
              </>
            ),
          },
          { title: t('State'), class: 'nowrap', cell: stateCell },
          { title: t('Kind'), wide: true, class: 'nowrap', cell: ({ kind }) => translateName(kind) },
          {
            title: t('Dimensions'),
            numeric: true,
            wide: true,
            cell: ({ default_dimension }) => (default_dimension === null ? '–' : formatNumber(default_dimension)),
          },
          {
            title: t('Tokens at most'),
            numeric: true,
            wide: true,
            cell: ({ max_tokens }) => (max_tokens === null ? '–' : formatNumber(max_tokens)),
          },
          { title: t('Space'), wide: true, cell: ({ space }) => space ?? '–' },
          { title: t('Held-out score'), numeric: true, wide: true, cell: ({ score }) => formatScore(score) },
        ]}
      />
    </Panel>
  );
}

function vendorName(vendor: string): string {
  if (vendor === 'local') return t('Built in');
  return vendor === 'service' ? t('Alias of this service') : vendor;
}

function stateCell({ available, status, calibrated }: ModelView) {
  if (!available && status === null) return <span class="quiet">{t('No provider')}</span>;
  return <Status of={status ?? (calibrated ? 'calibrated' : 'served')} />;
}
