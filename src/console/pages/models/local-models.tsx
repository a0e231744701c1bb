import { useEffect, useRef, useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatBytes, formatNumber } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import type { LocalModelList } from '../../types.ts';
import { ActionError, Button } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/page.tsx';
import { Reason } from '../../ui/reason.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { InstallDialog } from './install-dialog.tsx';
import { TestCall } from './test-call.tsx';

/** Polling interval of the progress while the page is visible. */
const REFRESH_MS = 2_000;

/** Return the part of a model's id after `local/`, as used in API paths. */
const partOf = (name: string) => name.slice('local/'.length);

/** Models that run on this host, for operators: install one and follow its progress, test it, remove it. */
export function LocalModels({ onChange }: { onChange: () => void }) {
  const models = useResource('local models', (signal) => call<LocalModelList>('/v1/local-models', { signal }), [
    'providers',
  ]);
  const { refreshQuietly, data: list } = models;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refreshQuietly(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [refreshQuietly]);
  const installed = list?.data.map(({ name, installed_at }) => `${name} ${installed_at}`).join();
  const before = useRef(installed);
  useEffect(() => {
    if (before.current !== undefined && before.current !== installed) onChange();
    before.current = installed;
  }, [installed, onChange]);
  const [isInstalling, setIsInstalling] = useState(false);
  return (
    <Panel
      title={t('Models on this host')}
      actions={
        <Button small icon="plus" onClick={() => setIsInstalling(true)}>
          {t('Install a model')}
        </Button>
      }
    >
      <p class="panel-body quiet">
        {t('An installed model runs in a process of the service, without a vendor. Choose sources that you trust.')}
      </p>
      <Loaded of={models}>
        {(shown) => (
          <>
            <InstallationList rows={shown.installations} onEnd={models.refresh} />
            {shown.data.length === 0 ? (
              <Empty title={t('No model is installed')}>{t('The built-in models need no installation.')}</Empty>
            ) : (
              <InstalledTable rows={shown.data} onRemoved={models.refresh} />
            )}
            {isInstalling && (
              <InstallDialog of={shown} onClose={() => setIsInstalling(false)} onStarted={models.refresh} />
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function InstallationList({ rows, onEnd }: { rows: LocalModelList['installations']; onEnd: () => void }) {
  if (rows.length === 0) return null;
  return (
    <ul class="stack panel-body" aria-label={t('Installations')}>
      {rows.map((row) => (
        <InstallationRow key={row.name} of={row} onEnd={onEnd} />
      ))}
    </ul>
  );
}

function InstallationRow({ of: row, onEnd }: { of: LocalModelList['installations'][number]; onEnd: () => void }) {
  const { name, state, phase, done_bytes: done, total_bytes: total, error_code: code, error_message: message } = row;
  const cancel = useAction(async () => {
    await call(pathOf('v1', 'local-models', partOf(name), 'installation'), { method: 'DELETE' });
    onEnd();
  });
  const isFailed = state === 'failed';
  const title = isFailed ? t('Forget {name}', { name }) : t('Cancel {name}', { name });
  return (
    <li class="stack tight">
      <span class="row">
        <strong>{name}</strong>
        <Status of={state === 'running' ? phase : state} />
        {state !== 'cancelling' && (
          <Button small isBusy={cancel.isRunning} aria-label={title} onClick={() => cancel.run()}>
            {isFailed ? t('Forget') : t('Cancel')}
          </Button>
        )}
      </span>
      <span class="sub">{row.source}</span>
      {isFailed ? (
        <Reason of={{ error_message: message, error_category: code }} />
      ) : (
        <span>
          <progress value={done} max={Math.max(total, 1)} aria-label={t('Progress of {name}', { name })} />{' '}
          {`${formatBytes(done)} / ${formatBytes(total)}`}
        </span>
      )}
      <ActionError error={cancel.error} />
    </li>
  );
}

function InstalledTable({ rows, onRemoved }: { rows: LocalModelList['data']; onRemoved: () => void }) {
  const [removing, setRemoving] = useState<string | null>(null);
  const remove = async (name: string) => {
    await call(pathOf('v1', 'local-models', partOf(name)), { method: 'DELETE' });
    toast(t('Removed'));
    onRemoved();
  };
  return (
    <>
      <Table
        caption={t('Models on this host')}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            title: t('Model'),
            cell: ({ name, source }) => (
              <>
                <span class="main">{name}</span>
                <span class="sub">{source}</span>
              </>
            ),
          },
          { title: t('Licence'), wide: true, cell: ({ licence }) => licence ?? t('not stated') },
          { title: t('Size'), numeric: true, wide: true, class: 'nowrap', cell: ({ bytes }) => formatBytes(bytes) },
          { title: t('Kind'), wide: true, cell: ({ kind }) => translateName(kind) },
          {
            title: t('Dimensions'),
            numeric: true,
            wide: true,
            cell: ({ kind, dimension }) => (kind === 'reranker' ? '–' : formatNumber(dimension)),
          },
          {
            title: t('Test call'),
            cell: ({ name, kind }) => <TestCall model={name} isReranker={kind === 'reranker'} />,
          },
          {
            title: t('Change'),
            cell: ({ name }) => (
              <Button small look="danger" aria-label={t('Remove {name}', { name })} onClick={() => setRemoving(name)}>
                {t('Remove')}
              </Button>
            ),
          },
        ]}
      />
      {removing !== null && (
        <ConfirmDialog
          title={t('Remove {name}?', { name: removing })}
          action={t('Remove')}
          onConfirm={() => remove(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>{t('Its files are deleted, and requests for it fail. A bucket that uses it prevents the removal.')}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
