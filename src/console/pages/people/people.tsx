import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { useAction } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import type { User } from '../../types.ts';
import { Button, Check, Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { ConfirmDialog, Dialog, type DialogProps } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';
import { List, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { InvitationDialog } from './invitation-dialog.tsx';
import { PeopleTabs } from './people-tabs.tsx';

const ROLES = ['member', 'admin', 'owner', 'org_admin', 'platform_admin'] as const;
type Open = { readonly kind: 'create' } | { readonly kind: 'edit' | 'revoke' | 'invite'; readonly user: User };

/** Page `/console/people`: users of the organization. */
export default function PeoplePage() {
  const [open, setOpen] = useState<Open | null>(null);
  const users = useList<User>('/v1/users');
  const canManage = mayUse('users:manage');
  const close = () => setOpen(null);
  return (
    <div class="page">
      <PageHeader
        title={t('People')}
        actions={
          canManage && (
            <Button look="primary" icon="plus" onClick={() => setOpen({ kind: 'create' })}>
              {t('Add a person')}
            </Button>
          )
        }
      >
        {t('Invite a person by a link. The person signs in with a password, a passkey or the identity provider.')}
      </PageHeader>
      <PeopleTabs current="people" />
      <Panel>
        <List
          of={users}
          empty={t('There are no people yet')}
          hint={t('Keys work without people. People have roles and departments.')}
        >
          {(rows) => <UserTable rows={rows} {...(canManage ? { onOpen: setOpen } : {})} />}
        </List>
      </Panel>
      {open?.kind === 'create' && <UserDialog onClose={close} onSaved={users.refresh} />}
      {open?.kind === 'edit' && <UserDialog known={open.user} onClose={close} onSaved={users.refresh} />}
      {open?.kind === 'invite' && <InvitationDialog user={open.user} onClose={close} />}
      {open?.kind === 'revoke' && <TokensDialog user={open.user} onClose={close} />}
    </div>
  );
}

interface UserTableProps {
  readonly rows: readonly User[];
  readonly onOpen?: (open: Open) => void;
}

function UserTable({ rows, onOpen }: UserTableProps) {
  const actions = (user: User) =>
    onOpen && (
      <div class="row actions">
        <Button small look="quiet" onClick={() => onOpen({ kind: 'edit', user })}>
          {t('Edit')}
        </Button>
        {user.oidc_subject === null && (
          <Button small look="quiet" onClick={() => onOpen({ kind: 'invite', user })}>
            {user.has_account ? t('Reset the password') : t('Invite')}
          </Button>
        )}
        <Button small look="danger" onClick={() => onOpen({ kind: 'revoke', user })}>
          {t('Revoke tokens')}
        </Button>
      </div>
    );
  return (
    <Table
      caption={t('People')}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { title: t('Person'), class: 'main', cell: ({ email }) => email },
        {
          title: t('State'),
          cell: ({ suspended_at }) => <Status of={suspended_at === null ? 'active' : 'suspended'} />,
        },
        { title: t('Role'), cell: ({ role }) => translateName(role) },
        { title: t('Department'), wide: true, cell: ({ department }) => department ?? '–' },
        { title: t('Level'), numeric: true, wide: true, cell: ({ auth_level }) => auth_level },
        { title: t('Created'), wide: true, class: 'nowrap', cell: ({ created_at }) => formatAgo(created_at) },
        { title: t('Change'), cell: actions },
      ]}
    />
  );
}

function UserDialog({ known, onClose, onSaved }: DialogProps & { known?: User }) {
  const [email, setEmail] = useState(known?.email ?? '');
  const [role, setRole] = useState<string>(known?.role ?? 'member');
  const [department, setDepartment] = useState(known?.department ?? '');
  const [level, setLevel] = useState(known ? String(known.auth_level) : '');
  const [isSuspended, setIsSuspended] = useState(known != null && known.suspended_at !== null);
  const save = useAction(async () => {
    const shared = { role, ...(level === '' ? {} : { auth_level: Number(level) }) };
    const name = department.trim();
    if (known) {
      const json = { ...shared, department: name === '' ? null : name, suspended: isSuspended };
      await call<User>(pathOf('v1', 'users', known.id), { method: 'PATCH', json });
    } else {
      const json = { ...shared, email: email.trim(), ...(name === '' ? {} : { department: name }) };
      await call<User>('/v1/users', { method: 'POST', json });
    }
    toast(t('Saved'));
    onSaved();
    onClose();
  });
  return (
    <Dialog title={known ? known.email : t('Add a person')} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        {!known && (
          <TextField
            label={t('E-mail address')}
            type="email"
            required
            maxLength={254}
            value={email}
            onValue={setEmail}
          />
        )}
        <div class="form-grid">
          <SelectField
            label={t('Role')}
            value={role}
            options={ROLES.map((value) => ({ value, label: translateName(value) }))}
            onValue={setRole}
          />
          <TextField label={t('Department')} maxLength={100} value={department} onValue={setDepartment} />
          <TextField
            label={t('Level')}
            hint={known ? undefined : t('Empty for the level of the role.')}
            type="number"
            min={1}
            max={10}
            value={level}
            onValue={setLevel}
          />
        </div>
        {known && (
          <Check label={t('Suspended: every request is refused')} isOn={isSuspended} onToggle={setIsSuspended} />
        )}
        <FormEnd of={save} submit={known ? t('Save') : t('Add')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

function TokensDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const revoke = async () => {
    await call(pathOf('v1', 'users', user.id, 'revoke-tokens'), { method: 'POST' });
    toast(t('The tokens were revoked'));
  };
  return (
    <ConfirmDialog
      title={t('Revoke all tokens of {name}?', { name: user.email })}
      action={t('Revoke tokens')}
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>{t('Every token of this person is refused at once, and every browser is signed out.')}</p>
    </ConfirmDialog>
  );
}
