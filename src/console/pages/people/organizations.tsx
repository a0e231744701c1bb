import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { useAction } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import type { Organization } from '../../types.ts';
import { Button, Check, Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog, type DialogProps } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';
import { List, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { PeopleTabs } from './people-tabs.tsx';

const PLANS = ['enterprise', 'business', 'pro', 'paid', 'starter', 'free'] as const;
/** Page `/console/organizations`, for operators. */
export default function OrganizationsPage() {
  const [open, setOpen] = useState<{ readonly known: Organization | null } | null>(null);
  const organizations = useList<Organization>('/v1/orgs');
  const canManage = mayUse('platform_admin');
  return (
    <div class="page">
      <PageHeader
        title={t('Organizations')}
        actions={
          canManage && (
            <Button look="primary" icon="plus" onClick={() => setOpen({ known: null })}>
              {t('New organization')}
            </Button>
          )
        }
      >
        {t('Each organization has its own documents, keys and people.')}
      </PageHeader>
      <PeopleTabs current="organizations" />
      <Panel>
        <List of={organizations} empty={t('There are no organizations yet')}>
          {(rows) => (
            <Table
              caption={t('Organizations')}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: t('Name'), class: 'main', cell: ({ name }) => name },
                {
                  title: t('State'),
                  cell: ({ suspended_at }) => <Status of={suspended_at === null ? 'active' : 'suspended'} />,
                },
                { title: t('Plan'), cell: ({ plan }) => translateName(plan) },
                {
                  title: t('Created'),
                  wide: true,
                  class: 'nowrap',
                  cell: ({ created_at }) => formatAgo(created_at),
                },
                {
                  title: t('Change'),
                  cell: (known) =>
                    canManage && (
                      <Button small look="quiet" onClick={() => setOpen({ known })}>
                        {t('Edit')}
                      </Button>
                    ),
                },
              ]}
            />
          )}
        </List>
      </Panel>
      {open && <OrganizationDialog known={open.known} onClose={() => setOpen(null)} onSaved={organizations.refresh} />}
    </div>
  );
}

function OrganizationDialog({ known, onClose, onSaved }: DialogProps & { known: Organization | null }) {
  const [name, setName] = useState('');
  const [plan, setPlan] = useState<string>(known?.plan ?? 'free');
  const [isSuspended, setIsSuspended] = useState(known !== null && known.suspended_at !== null);
  const save = useAction(async () => {
    if (known) await call(pathOf('v1', 'orgs', known.id), { method: 'PATCH', json: { plan, suspended: isSuspended } });
    else await call('/v1/orgs', { method: 'POST', json: { name: name.trim(), plan } });
    toast(t('Saved'));
    onSaved();
    onClose();
  });
  return (
    <Dialog title={known?.name ?? t('New organization')} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        {!known && <TextField label={t('Name')} required maxLength={100} value={name} onValue={setName} />}
        <SelectField
          label={t('Plan')}
          value={plan}
          options={PLANS.map((value) => ({ value, label: translateName(value) }))}
          onValue={setPlan}
        />
        {known && (
          <Check label={t('Suspended: every request is refused')} isOn={isSuspended} onToggle={setIsSuspended} />
        )}
        <FormEnd of={save} submit={known ? t('Save') : t('Create')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
