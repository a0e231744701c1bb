import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatDuration } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { AddedVendor } from '../../types.ts';
import { Form, FormEnd } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { ModelAtVendor } from './model-at-vendor.tsx';

interface VendorModelDialogProps {
  readonly vendor: string;
  readonly onClose: () => void;
  readonly onAdded: () => void;
}

/** Form of another model of an added vendor, which the service stores only after a test call. */
export function VendorModelDialog({ vendor, onClose, onAdded }: VendorModelDialogProps) {
  const [model, setModel] = useState('');
  const [tokens, setTokens] = useState('');
  const save = useAction(async () => {
    const json = { model: model.trim(), ...(tokens === '' ? {} : { max_tokens: Number(tokens) }) };
    const added = await call<AddedVendor>(pathOf('v1', 'vendors', vendor, 'models'), { method: 'POST', json });
    const time = formatDuration(added.latency_ms);
    toast(t('It answered in {time} with {count} dimensions.', { time, count: added.dimensions }));
    onAdded();
    onClose();
  });
  return (
    <Dialog title={t('Add a model of {name}', { name: vendor })} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <ModelAtVendor model={model} onModel={setModel} tokens={tokens} onTokens={setTokens} />
        <FormEnd of={save} submit={t('Test and add')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}
