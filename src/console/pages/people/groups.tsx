import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import { splitList } from '../../lib/split-list.ts';
import type { Group, GroupWithMembers } from '../../types.ts';
import { Button, Form, FormEnd, TextField } from '../../ui/controls.tsx';
import { ConfirmDialog, Dialog, type DialogProps } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { List, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { PeopleTabs } from './people-tabs.tsx';

const MEMBERS_HINT = 'E-mail addresses, key:ID or group:NAME, separated by commas.';

type Open = { readonly kind: 'create' } | { readonly kind: 'members' | 'delete'; readonly group: Group };

/** Page `/console/groups`: groups of the organization. */
export default function GroupsPage() {
  const [open, setOpen] = useState<Open | null>(null);
  const groups = useList<Group>('/v1/groups');
  const close = () => setOpen(null);
  return (
    <div class="page">
      <PageHeader
        title={t('Groups')}
        actions={
          mayUse('groups:manage') && (
            <Button look="primary" icon="plus" onClick={() => setOpen({ kind: 'create' })}>
              {t('New group')}
            </Button>
          )
        }
      >
        {t('A document can name groups. Then only their members and administrators find it.')}
      </PageHeader>
      <PeopleTabs current="groups" />
      <Panel>
        <List
          of={groups}
          empty={t('There are no groups yet')}
          hint={t('Make one for each circle of people who read the same documents.')}
        >
          {(rows) => <GroupTable rows={rows} onOpen={setOpen} />}
        </List>
      </Panel>
      {open?.kind === 'create' && <NewGroupDialog onClose={close} onSaved={groups.refresh} />}
      {open?.kind === 'members' && <MembersDialog group={open.group} onClose={close} onSaved={groups.refresh} />}
      {open?.kind === 'delete' && <DeleteDialog group={open.group} onClose={close} onSaved={groups.refresh} />}
    </div>
  );
}

function GroupTable({ rows, onOpen }: { rows: readonly Group[]; onOpen: (open: Open) => void }) {
  const actions = (group: Group) => (
    <div class="row actions">
      <Button small look="quiet" onClick={() => onOpen({ kind: 'members', group })}>
        {t('Members')}
      </Button>
      <Button small look="danger" onClick={() => onOpen({ kind: 'delete', group })}>
        {t('Delete')}
      </Button>
    </div>
  );
  return (
    <Table
      caption={t('Groups')}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { title: t('Name'), class: 'main', cell: ({ name }) => name },
        {
          title: t('Shown as'),
          wide: true,
          cell: ({ name, display_name }) => (display_name === name ? '–' : display_name),
        },
        { title: t('Members'), numeric: true, cell: ({ member_count }) => member_count },
        { title: t('Value in tokens'), wide: true, cell: ({ claim }) => claim ?? '–' },
        { title: t('Change'), cell: actions },
      ]}
    />
  );
}

function NewGroupDialog({ onClose, onSaved }: DialogProps) {
  const [name, setName] = useState('');
  const [members, setMembers] = useState('');
  const [claim, setClaim] = useState('');
  const save = useAction(async () => {
    const json = {
      name: name.trim(),
      members: splitList(members),
      ...(claim.trim() === '' ? {} : { claim: claim.trim() }),
    };
    await call<GroupWithMembers>('/v1/groups', { method: 'POST', json });
    toast(t('Saved'));
    onSaved();
    onClose();
  });
  return (
    <Dialog title={t('New group')} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <TextField
          label={t('Name')}
          hint={t('It never changes, since documents hold it.')}
          required
          maxLength={100}
          value={name}
          onValue={setName}
        />
        <TextField label={t('Members')} hint={t(MEMBERS_HINT)} value={members} onValue={setMembers} />
        <TextField
          label={t('Value in tokens')}
          hint={t('Value of the groups claim of the identity provider. Empty for the name.')}
          maxLength={256}
          value={claim}
          onValue={setClaim}
        />
        <FormEnd of={save} submit={t('Add')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

function MembersDialog({ group, onClose, onSaved }: DialogProps & { readonly group: Group }) {
  const path = pathOf('v1', 'groups', group.name);
  const known = useResource(path, (signal) => call<GroupWithMembers>(path, { signal }));
  const [added, setAdded] = useState('');
  const change = useAction(async (json: object) => {
    await call<GroupWithMembers>(path, { method: 'PATCH', json });
    setAdded('');
    known.refresh();
    onSaved();
  });
  return (
    <Dialog title={t('Members of {name}', { name: group.display_name })} onClose={onClose}>
      <Loaded of={known}>
        {({ members }) => (
          <Table
            caption={t('Members')}
            rows={members}
            keyOf={({ member }) => member}
            columns={[
              { title: t('Member'), class: 'main', cell: ({ member, email }) => email ?? member },
              { title: t('Named by'), cell: ({ from_claim }) => (from_claim ? t('Token') : t('Administrator')) },
              {
                title: t('Change'),
                cell: ({ member }) => (
                  <Button small look="danger" onClick={() => change.run({ remove: [member] })}>
                    {t('Remove')}
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <Form onSubmit={() => change.run({ add: splitList(added) })}>
        <TextField label={t('Add members')} hint={t(MEMBERS_HINT)} required value={added} onValue={setAdded} />
        <FormEnd of={change} submit={t('Add')} leave={t('Close')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

function DeleteDialog({ group, onClose, onSaved }: DialogProps & { readonly group: Group }) {
  const remove = async () => {
    await call(pathOf('v1', 'groups', group.name), { method: 'DELETE' });
    toast(t('The group was deleted'));
    onSaved();
  };
  return (
    <ConfirmDialog
      title={t('Delete the group {name}?', { name: group.name })}
      action={t('Delete')}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{t('Documents that name nobody else are then read by administrators only.')}</p>
    </ConfirmDialog>
  );
}
