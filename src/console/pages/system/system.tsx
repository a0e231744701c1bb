import { t } from '../../lib/i18n.ts';
import { useOverview } from '../../lib/overview.ts';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Installation } from './installation.tsx';

/** Page `/console/system`: queues, workers, providers and storage, for the operators of the installation. */
export default function SystemPage() {
  const overview = useOverview();
  return (
    <div class="page">
      <PageHeader title={t('System')}>
        {t('The queues, workers, providers and storage of this installation.')}
      </PageHeader>
      <Loaded of={overview}>
        {({ installation }) =>
          installation === null ? (
            <Panel>
              <Empty title={t('You may not do this')}>{t('Only operators of the installation see this page.')}</Empty>
            </Panel>
          ) : (
            <Installation load={installation} />
          )
        }
      </Loaded>
    </div>
  );
}
