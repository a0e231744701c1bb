import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { formatDuration } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { AddedVendor } from '../../types.ts';
import { ActionError, Button, Form, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { PROTOCOL_NAMES, type VendorView } from './vendor-view.ts';

interface VendorDialogProps {
  readonly vendors: readonly VendorView[];
  readonly onClose: () => void;
  readonly onAdded: () => void;
}

const PROTOCOLS = Object.entries(PROTOCOL_NAMES).map(([value, label]) => ({ value, label }));
/** Tokens of a text that most models accept. */
const TOKENS_AT_FIRST = '512';

/** Form of a new vendor. The service makes a test call and stores the vendor only if that succeeds. */
export function VendorDialog({ vendors, onClose, onAdded }: VendorDialogProps) {
  const usualName = (chosen: string) =>
    vendors.find(({ protocol, is_set_up }) => protocol === chosen && !is_set_up)?.name ?? '';
  const [protocol, setProtocol] = useState('openai');
  const [name, setName] = useState(usualName('openai'));
  const [address, setAddress] = useState('');
  const [key, setKey] = useState('');
  const [model, setModel] = useState('');
  const [tokens, setTokens] = useState(TOKENS_AT_FIRST);
  const save = useAction(async () => {
    const json = {
      name: name.trim(),
      protocol,
      base_url: address.trim(),
      ...(key.trim() === '' ? {} : { api_key: key.trim() }),
      model: model.trim(),
      max_tokens: Number(tokens),
    };
    const added = await call<AddedVendor>('/v1/vendors', { method: 'POST', json });
    const time = formatDuration(added.latency_ms);
    toast(t('It answered in {time} with {count} dimensions.', { time, count: added.dimensions }));
    onAdded();
    onClose();
  });
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
          hint={t('Address of the API, without the path of the operation.')}
          required
          maxLength={2000}
          spellcheck={false}
          value={address}
          onValue={setAddress}
        />
        <TextField
          label={t('API key')}
          hint={t('It is stored encrypted and never shown again. Empty for a server without keys.')}
          type="password"
          autocomplete="off"
          value={key}
          onValue={setKey}
        />
        <div class="form-grid">
          <TextField
            label={t('Name of a model at the vendor')}
            hint={t('A test call embeds a short text with it.')}
            required
            maxLength={136}
            spellcheck={false}
            value={model}
            onValue={setModel}
          />
          <TextField
            label={t('Tokens at most')}
            hint={t('Tokens of a text that the model accepts.')}
            type="number"
            min={1}
            max={1_000_000}
            required
            value={tokens}
            onValue={setTokens}
          />
        </div>
        <ActionError error={save.error} />
        <div class="form-actions">
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button type="submit" look="primary" isBusy={save.isRunning}>
            {t('Test and add')}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
