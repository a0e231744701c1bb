import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useResource } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import { Badge, Button } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { TestCall } from './test-call.tsx';
import { VendorDialog } from './vendor-dialog.tsx';
import { VendorModelDialog } from './vendor-model-dialog.tsx';
import { PROTOCOL_NAMES, type VendorView } from './vendor-view.ts';

/** Vendors of models: those of service.yaml, and those that an operator adds and removes here. */
export function Vendors() {
  const vendors = useResource('vendors', (signal) => call<Page<VendorView>>('/v1/vendors', { signal }), ['providers']);
  const [isAdding, setIsAdding] = useState(false);
  const [growing, setGrowing] = useState<string | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const canManage = mayUse('platform_admin');
  const remove = async (name: string) => {
    await call(pathOf('v1', 'vendors', name), { method: 'DELETE' });
    toast(t('Removed'));
    vendors.refresh();
  };
  return (
    <Panel
      title={t('Vendors')}
      actions={
        canManage && (
          <Button small icon="plus" onClick={() => setIsAdding(true)}>
            {t('Add a vendor')}
          </Button>
        )
      }
    >
      <p class="panel-body quiet">
        {t('A vendor serves models over the network. An operator adds one here or in service.yaml.')}
      </p>
      <Loaded of={vendors}>
        {({ data }) => (
          <>
            <Table
              caption={t('Vendors')}
              rows={data}
              keyOf={({ name }) => name}
              columns={[
                {
                  title: t('Vendor'),
                  cell: ({ name, protocol }) => (
                    <>
                      <span class="main">{name}</span>
                      <span class="sub">{protocolText(protocol)}</span>
                    </>
                  ),
                },
                { title: t('State'), class: 'nowrap', cell: stateCell },
                { title: t('Models'), wide: true, cell: modelsCell },
                {
                  title: t('Test call'),
                  cell: ({ is_set_up, models }) => (is_set_up && models[0] ? <TestCall model={models[0].id} /> : '–'),
                },
                ...(canManage
                  ? [
                      {
                        title: t('Change'),
                        cell: ({ name, is_added }: VendorView) =>
                          is_added && <VendorButtons name={name} onAdd={setGrowing} onRemove={setRemoving} />,
                      },
                    ]
                  : []),
              ]}
            />
            {isAdding && <VendorDialog vendors={data} onClose={() => setIsAdding(false)} onAdded={vendors.refresh} />}
          </>
        )}
      </Loaded>
      {growing !== null && (
        <VendorModelDialog vendor={growing} onClose={() => setGrowing(null)} onAdded={vendors.refresh} />
      )}
      {removing !== null && (
        <ConfirmDialog
          title={t('Remove {name}?', { name: removing })}
          action={t('Remove')}
          onConfirm={() => remove(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>{t('Its key is deleted, and requests for its models fail. Move the buckets that use them first.')}</p>
        </ConfirmDialog>
      )}
    </Panel>
  );
}

interface VendorButtonsProps {
  readonly name: string;
  readonly onAdd: (name: string) => void;
  readonly onRemove: (name: string) => void;
}

function VendorButtons({ name, onAdd, onRemove }: VendorButtonsProps) {
  return (
    <span class="row">
      <Button small aria-label={t('Add a model of {name}', { name })} onClick={() => onAdd(name)}>
        {t('Add a model')}
      </Button>
      <Button small look="danger" aria-label={t('Remove {name}', { name })} onClick={() => onRemove(name)}>
        {t('Remove')}
      </Button>
    </span>
  );
}

function protocolText(protocol: string | null): string {
  if (protocol === null) return t('Any protocol; the settings of the vendor name it.');
  return t('It speaks the protocol of {name}.', { name: PROTOCOL_NAMES[protocol] ?? protocol });
}

function stateCell({ is_set_up, is_added }: VendorView) {
  if (!is_set_up) return <Badge>{t('Not set up')}</Badge>;
  return (
    <>
      <Badge tone="good">{t('Set up')}</Badge>
      <span class="sub">{is_added ? t('added here') : t('from service.yaml')}</span>
    </>
  );
}

function modelsCell({ models }: VendorView) {
  return models.map(({ id, price_per_million: price }) => (
    <span key={id} class="sub">
      {price === 0 ? id : `${id} · ${t('{price} for a million tokens', { price })}`}
    </span>
  ));
}
