import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { formatDuration } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { AddedVendor } from '../../types.ts';
import { Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { ModelAtVendor } from './model-at-vendor.tsx';
import { VendorFields } from './vendor-fields.tsx';
import { PROTOCOL_FIELDS, PROTOCOL_NAMES, type VendorView, WITH_OWN_ADDRESS } from './vendor-view.ts';

interface VendorDialogProps {
  readonly vendors: readonly VendorView[];
  readonly onClose: () => void;
  readonly onAdded: () => void;
}

const PROTOCOLS = Object.entries(PROTOCOL_NAMES).map(([value, label]) => ({ value, label }));
/** Return the values that are not empty, without spaces around them. */
function filled(values: Readonly<Record<string, string>>): Record<string, string> {
  const trimmed = Object.entries(values).map(([field, value]) => [field, value.trim()] as const);
  return Object.fromEntries(trimmed.filter(([, value]) => value !== ''));
}

/** Return the fields that the protocol has. Without a key, Bedrock uses the machine's role. */
function extrasOf(protocol: string, key: string, extras: Readonly<Record<string, string>>): Record<string, string> {
  const own = filled(
    Object.fromEntries((PROTOCOL_FIELDS[protocol] ?? []).map((field) => [field, extras[field] ?? ''])),
  );
  const isRole = protocol === 'bedrock' && key.trim() === '' && own['access_key_id'] === undefined;
  return isRole ? { ...own, credentials: 'aws' } : own;
}

/** Form of a new vendor. The service makes a test call and stores the vendor only if that succeeds. */
export function VendorDialog({ vendors, onClose, onAdded }: VendorDialogProps) {
  const usualName = (chosen: string) =>
    vendors.find(({ protocol, is_set_up }) => protocol === chosen && !is_set_up)?.name ?? '';
  const [protocol, setProtocol] = useState('openai');
  const [name, setName] = useState(usualName('openai'));
  const [address, setAddress] = useState('');
  const [key, setKey] = useState('');
  const [extras, setExtras] = useState<Readonly<Record<string, string>>>({});
  const [model, setModel] = useState('');
  const [tokens, setTokens] = useState('');
  const save = useAction(async () => {
    const shared = { name, protocol, base_url: address, api_key: protocol === 'vertex' ? '' : key, model };
    const json = {
      ...filled(shared),
      ...extrasOf(protocol, key, extras),
      ...(tokens === '' ? {} : { max_tokens: Number(tokens) }),
    };
    const added = await call<AddedVendor>('/v1/vendors', { method: 'POST', json });
    const time = formatDuration(added.latency_ms);
    toast(t('It answered in {time} with {count} dimensions.', { time, count: added.dimensions }));
    onAdded();
    onClose();
  });
  const hasAddress = WITH_OWN_ADDRESS.has(protocol);
  return (
    <Dialog title={t('Add a vendor')} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <div class="form-grid">
          <SelectField
            label={t('Protocol')}
            value={protocol}
            options={PROTOCOLS}
            onValue={(chosen) => {
              if (name === usualName(protocol)) setName(usualName(chosen));
              setProtocol(chosen);
            }}
          />
          <TextField
            label={t('Name')}
            hint={t('The ids of its models begin with it.')}
            required
            maxLength={64}
            value={name}
            onValue={setName}
          />
        </div>
        <TextField
          label={t('Address')}
          hint={
            hasAddress
              ? t('Only for a private address of the API. Empty for that of the vendor.')
              : t('Address of the API, without the path of the operation.')
          }
          required={!hasAddress}
          maxLength={2000}
          spellcheck={false}
          value={address}
          onValue={setAddress}
        />
        {protocol !== 'vertex' && (
          <TextField
            label={t('API key')}
            hint={t('It is stored encrypted and never shown again. Empty for a server without keys.')}
            type="password"
            autocomplete="off"
            value={key}
            onValue={setKey}
          />
        )}
        <VendorFields
          protocol={protocol}
          values={extras}
          onValue={(field, value) => setExtras({ ...extras, [field]: value })}
        />
        <ModelAtVendor model={model} onModel={setModel} tokens={tokens} onTokens={setTokens} />
        <FormEnd of={save} submit={t('Test and add')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
