import { call, pathOf } from '../../lib/api.ts';
import { formatTime } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import type { DocumentView, HistoryEntry } from '../../types.ts';
import { Changes } from '../../ui/changes.tsx';
import { Panel } from '../../ui/page.tsx';
import { Failure, Loading } from '../../ui/states.tsx';

interface History {
  readonly data: readonly HistoryEntry[];
}

/** Changes of a document from the audit log, which administrators may read. */
export function HistoryPanel({ document }: { document: DocumentView }) {
  const history = useResource(`history ${document.id} ${document.updated_at}`, (signal) =>
    call<History>(pathOf('v1', 'documents', document.id, 'history'), { signal }),
  );
  return (
    <Panel title={t('History')} padded>
      <HistoryList history={history} />
    </Panel>
  );
}

function HistoryList({ history }: { history: ReturnType<typeof useResource<History>> }) {
  const { data, error, refresh } = history;
  if (error?.status === 403)
    return <p class="quiet">{t('Only administrators of the organization see who changed what.')}</p>;
  if (error) return <Failure error={error} onRetry={refresh} />;
  if (data === null) return <Loading />;
  if (data.data.length === 0) return <p class="quiet">{t('No changes since the upload.')}</p>;
  return (
    <ol class="history">
      {data.data.map((entry) => (
        <li key={`${entry.at} ${entry.action}`}>
          <span>
            <strong>{translateName(entry.action.replace(/^document\./, ''))}</strong>
          </span>
          <Changes before={entry.before} after={entry.after} />
          {entry.statement && <code>{entry.statement}</code>}
          <span class="faint">
            {formatTime(entry.at)} · {entry.actor}
          </span>
        </li>
      ))}
    </ol>
  );
}
