import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo, formatDate } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { currentCaller, mayUse } from '../../lib/session.ts';
import type { ApiKey } from '../../types.ts';
import { Button, Notice } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';
import { List, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { KeyDialog } from './key-dialog.tsx';
import { PeopleTabs } from './people-tabs.tsx';
import { type NewKey, SecretDialog } from './secret-dialog.tsx';

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'edit' | 'revoke' | 'rotate'; readonly key: ApiKey }
  | { readonly kind: 'secret'; readonly key: NewKey };

/** Page `/console/keys`: API keys of the organization. */
export default function KeysPage() {
  const [open, setOpen] = useState<Open | null>(null);
  const keys = useList<ApiKey>('/v1/keys');
  const canManage = mayUse('keys:manage');
  const close = () => setOpen(null);
  const showSecret = (key: NewKey) => {
    setOpen({ kind: 'secret', key });
    keys.refresh();
  };
  return (
    <div class="page">
      <PageHeader
        title={t('Keys')}
        actions={
          canManage && (
            <Button look="primary" icon="plus" onClick={() => setOpen({ kind: 'create' })}>
              {t('New key')}
            </Button>
          )
        }
      >
        {t('A key lets a program call the API with the scopes that it has.')}
      </PageHeader>
      <PeopleTabs current="keys" />
      <Panel>
        <List
          of={keys}
          empty={t('There are no keys yet')}
          hint={t('Make one for each program, so that you can revoke it alone.')}
        >
          {(rows) => <KeyTable rows={rows} {...(canManage ? { onOpen: setOpen } : {})} />}
        </List>
      </Panel>
      {open?.kind === 'create' && <KeyDialog onClose={close} onCreated={showSecret} onSaved={keys.refresh} />}
      {open?.kind === 'edit' && (
        <KeyDialog known={open.key} onClose={close} onCreated={showSecret} onSaved={keys.refresh} />
      )}
      {open?.kind === 'secret' && <SecretDialog created={open.key} onClose={close} />}
      {open?.kind === 'revoke' && <RevokeDialog apiKey={open.key} onClose={close} onDone={keys.refresh} />}
      {open?.kind === 'rotate' && <RotateDialog apiKey={open.key} onRotated={showSecret} onClose={close} />}
    </div>
  );
}

function stateOf({ revoked_at, expires_at }: ApiKey): string {
  const now = Date.now();
  if (revoked_at !== null && Date.parse(revoked_at) <= now) return 'revoked';
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'active';
}

function KeyTable({ rows, onOpen }: { rows: readonly ApiKey[]; onOpen?: (open: Open) => void }) {
  const actions = (key: ApiKey) =>
    stateOf(key) === 'active' &&
    onOpen && (
      <div class="row actions">
        <Button small look="quiet" onClick={() => onOpen({ kind: 'edit', key })}>
          {t('Edit')}
        </Button>
        <Button small look="quiet" onClick={() => onOpen({ kind: 'rotate', key })}>
          {t('Rotate')}
        </Button>
        <Button small look="danger" onClick={() => onOpen({ kind: 'revoke', key })}>
          {t('Revoke')}
        </Button>
      </div>
    );
  return (
    <Table
      caption={t('Keys')}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t('Name'),
          cell: ({ name, id }) => (
            <>
              <span class="main">{name}</span>
              <span class="sub mono">{id}</span>
            </>
          ),
        },
        { title: t('State'), cell: (key) => <Status of={stateOf(key)} /> },
        { title: t('Scopes'), wide: true, class: 'scopes', cell: ({ scopes }) => <Scopes of={scopes} /> },
        { title: t('Level'), numeric: true, wide: true, cell: ({ auth_level }) => auth_level },
        {
          title: t('Expires'),
          wide: true,
          class: 'nowrap',
          cell: ({ expires_at }) => (expires_at === null ? t('Never') : formatDate(expires_at)),
        },
        {
          title: t('Last used'),
          wide: true,
          class: 'nowrap',
          cell: ({ last_used_at }) => (last_used_at === null ? t('Never') : formatAgo(last_used_at)),
        },
        { title: t('Change'), cell: actions },
      ]}
    />
  );
}

const SCOPES_SHOWN = 3;

/** First scopes of a key. The form shows the rest. */
function Scopes({ of }: { of: readonly string[] }) {
  const rest = of.length - SCOPES_SHOWN;
  return (
    <span class="quiet">
      {of.slice(0, SCOPES_SHOWN).join(', ')}
      {rest > 0 && ` ${t('and {count} more', { count: rest })}`}
    </span>
  );
}

function RevokeDialog({ apiKey, onClose, onDone }: { apiKey: ApiKey; onClose: () => void; onDone: () => void }) {
  const revoke = async () => {
    await call(pathOf('v1', 'keys', apiKey.id), { method: 'DELETE' });
    toast(t('The key was revoked'));
    onDone();
  };
  return (
    <ConfirmDialog
      title={t('Revoke the key {name}?', { name: apiKey.name })}
      action={t('Revoke')}
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>{t('Programs that use it are refused at once. This cannot be undone.')}</p>
      {currentCaller().key?.id === apiKey.id && (
        <Notice tone="warn" title={t('You are signed in with this key')}>
          {t('This session ends too, and you need another key to sign in again.')}
        </Notice>
      )}
    </ConfirmDialog>
  );
}

const GRACE_SECONDS = 3600;

function RotateDialog({
  apiKey,
  onRotated,
  onClose,
}: {
  apiKey: ApiKey;
  onRotated: (key: NewKey) => void;
  onClose: () => void;
}) {
  const rotate = async () => {
    const path = pathOf('v1', 'keys', apiKey.id, 'rotate');
    const created = await call<NewKey>(path, { method: 'POST', json: { grace_seconds: GRACE_SECONDS } });
    // Run this after the question's dialog has closed.
    setTimeout(() => onRotated(created));
  };
  return (
    <ConfirmDialog
      title={t('Rotate the key {name}?', { name: apiKey.name })}
      action={t('Rotate')}
      onConfirm={rotate}
      onClose={onClose}
    >
      <p>{t('A new key with the same scopes is made. The old one works for one more hour.')}</p>
    </ConfirmDialog>
  );
}
