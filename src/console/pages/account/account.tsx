import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { addPasskey, canUsePasskeys } from '../../lib/passkeys.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import { currentCaller, type SessionReply } from '../../lib/session.ts';
import { ActionError, Button, Form, FormEnd, TextField } from '../../ui/controls.tsx';
import { ConfirmDialog, Dialog, type DialogProps } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { PasswordDialog } from './password-dialog.tsx';

interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

interface AccountView {
  readonly email: string;
  readonly passkeys: readonly Passkey[];
  readonly organizations: readonly { readonly id: string; readonly name: string; readonly role: string }[];
}

type Open = { readonly kind: 'password' | 'passkey' } | { readonly kind: 'delete'; readonly passkey: Passkey };

/** Page `/console/account`: password, passkeys and organizations of the signed-in user. */
export default function AccountPage() {
  const account = useResource('account', () => call<AccountView>('/v1/me/account'));
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  return (
    <div class="page">
      <PageHeader
        title={t('Your account')}
        actions={<Button onClick={() => setOpen({ kind: 'password' })}>{t('Change the password')}</Button>}
      >
        {account.data?.email ?? ''}
      </PageHeader>
      <Loaded of={account}>
        {({ passkeys, organizations }) => (
          <>
            <Panel
              title={t('Passkeys')}
              actions={
                canUsePasskeys() && (
                  <Button icon="plus" onClick={() => setOpen({ kind: 'passkey' })}>
                    {t('Add a passkey')}
                  </Button>
                )
              }
            >
              <PasskeyTable of={passkeys} onDelete={(passkey) => setOpen({ kind: 'delete', passkey })} />
            </Panel>
            <Panel title={t('Organizations')}>
              <OrganizationTable of={organizations} />
            </Panel>
          </>
        )}
      </Loaded>
      {open?.kind === 'password' && <PasswordDialog onClose={close} />}
      {open?.kind === 'passkey' && <PasskeyDialog onClose={close} onSaved={account.refresh} />}
      {open?.kind === 'delete' && (
        <ConfirmDialog
          title={t('Delete the passkey {name}?', { name: open.passkey.name })}
          action={t('Delete')}
          onConfirm={async () => {
            await call(pathOf('v1', 'me', 'account', 'passkeys', open.passkey.id), { method: 'DELETE' });
            account.refresh();
          }}
          onClose={close}
        >
          <p>{t('It does not sign in any more. Delete it on the device, too.')}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

function PasskeyTable({ of, onDelete }: { of: readonly Passkey[]; onDelete: (passkey: Passkey) => void }) {
  if (of.length === 0)
    return (
      <Empty title={t('There are no passkeys yet')}>
        {canUsePasskeys()
          ? t('A passkey signs in with the lock of your device in place of a password.')
          : t('Passkeys need a host name and https. Ask an administrator for that address.')}
      </Empty>
    );
  return (
    <Table
      caption={t('Passkeys')}
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        { title: t('Name'), class: 'main', cell: ({ name }) => name },
        { title: t('Created'), class: 'nowrap', cell: ({ created_at }) => formatAgo(created_at) },
        {
          title: t('Last used'),
          class: 'nowrap',
          cell: ({ last_used_at }) => (last_used_at === null ? '–' : formatAgo(last_used_at)),
        },
        {
          title: t('Change'),
          cell: (passkey) => (
            <Button small look="danger" onClick={() => onDelete(passkey)}>
              {t('Delete')}
            </Button>
          ),
        },
      ]}
    />
  );
}

function OrganizationTable({ of }: { of: AccountView['organizations'] }) {
  const { org } = currentCaller();
  const change = useAction(async (organization: string) => {
    await call<SessionReply>('/v1/me/account/organization', { method: 'POST', json: { organization } });
    // Reload, since all pages now show the other organization.
    location.assign('/console');
  });
  return (
    <>
      <Table
        caption={t('Organizations')}
        rows={of}
        keyOf={({ id }) => id}
        columns={[
          { title: t('Organization'), class: 'main', cell: ({ name }) => name },
          { title: t('Role'), cell: ({ role }) => translateName(role) },
          {
            title: t('Change'),
            cell: ({ id }) =>
              id === org.id ? (
                t('You are here')
              ) : (
                <Button small isBusy={change.isRunning} onClick={() => change.run(id)}>
                  {t('Go there')}
                </Button>
              ),
          },
        ]}
      />
      <ActionError error={change.error} />
    </>
  );
}

function PasskeyDialog({ onClose, onSaved }: DialogProps) {
  const [name, setName] = useState('');
  const add = useAction(async () => {
    if (!(await addPasskey(name.trim()))) return;
    toast(t('Saved'));
    onSaved();
    onClose();
  });
  return (
    <Dialog title={t('Add a passkey')} onClose={onClose}>
      <Form onSubmit={() => add.run()}>
        <TextField
          label={t('Name')}
          hint={t('For example the name of this device.')}
          required
          maxLength={100}
          value={name}
          onValue={setName}
        />
        <FormEnd of={add} submit={t('Add')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
