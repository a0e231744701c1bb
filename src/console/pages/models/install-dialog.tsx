import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { formatBytes } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { LocalModelList, PlanView } from '../../types.ts';
import { ActionError, Button, Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';

const ADDRESS = '/v1/local-models';
/** Value for a hub model in the list of sources. No folder has this name. */
const HUB = '';

interface InstallDialogProps {
  readonly of: LocalModelList;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}

/** Form fields by API name. Empty fields are omitted from the request. */
type Fields = Readonly<Record<'source' | 'name' | 'kind' | 'variant' | 'pooling' | 'prompts' | 'max_tokens', string>>;

const AT_FIRST: Fields = {
  source: '',
  name: '',
  kind: 'embedding',
  variant: 'fp32',
  pooling: '',
  prompts: '',
  max_tokens: '',
};

/** Build the body of a request. The commit of a plan installs exactly the files that the user has agreed to. */
function bodyOf(fields: Fields, revision: string | null = null): Record<string, unknown> {
  const filled = Object.entries(fields).flatMap(([field, value]) => {
    const text = value.trim();
    if (text === '') return [];
    return [[field, field === 'max_tokens' ? Number(text) : text]];
  });
  return { ...Object.fromEntries(filled), ...(revision === null ? {} : { revision }) };
}

/** Form to install a model: choose a source, see its licence and size, and start. */
export function InstallDialog({ of: { hub_url: hub, folders }, onClose, onStarted }: InstallDialogProps) {
  const [fields, setFields] = useState(AT_FIRST);
  const [folder, setFolder] = useState(HUB);
  const [plan, setPlan] = useState<PlanView | null>(null);
  const set = (field: keyof Fields) => (value: string) => setFields({ ...fields, [field]: value });
  const asked = folder === HUB ? fields : { ...fields, source: folder };
  const look = useAction(async () => {
    setPlan(await call<PlanView>(`${ADDRESS}/plan`, { method: 'POST', json: bodyOf(asked) }));
  });
  if (plan !== null) {
    return (
      <PlanDialog
        plan={plan}
        body={bodyOf(asked, plan.revision)}
        onBack={() => setPlan(null)}
        onClose={onClose}
        onStarted={onStarted}
      />
    );
  }
  return (
    <Dialog title={t('Install a model')} onClose={onClose}>
      <Form onSubmit={() => look.run()}>
        <SelectField
          label={t('Source')}
          value={folder}
          options={[
            { value: HUB, label: t('The hub {address}', { address: hub }) },
            ...folders.map((name) => ({ value: name, label: t('Folder {name}', { name }) })),
          ]}
          onValue={setFolder}
        />
        {folder === HUB && (
          <TextField
            label={t('Id at the hub')}
            hint={t('Organization and name, such as intfloat/multilingual-e5-small.')}
            required
            maxLength={200}
            spellcheck={false}
            value={fields.source}
            onValue={set('source')}
          />
        )}
        <ModelFields fields={fields} set={set} />
        <FormEnd of={look} submit={t('Show licence and size')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

interface ModelFieldsProps {
  readonly fields: Fields;
  readonly set: (field: keyof Fields) => (value: string) => void;
}

function ModelFields({ fields, set }: ModelFieldsProps) {
  const fromSource = { value: '', label: t('as the source says') };
  return (
    <>
      <div class="form-grid">
        <SelectField
          label={t('Kind')}
          value={fields.kind}
          options={[
            { value: 'embedding', label: t('Embeds texts') },
            { value: 'reranker', label: t('Orders results (reranker)') },
          ]}
          onValue={set('kind')}
        />
        <SelectField
          label={t('Precision')}
          hint={t('int8 is smaller and faster, and its vectors differ a little.')}
          value={fields.variant}
          options={['fp32', 'fp16', 'int8'].map((value) => ({ value, label: value }))}
          onValue={set('variant')}
        />
      </div>
      <TextField
        label={t('Name')}
        hint={t('local/NAME. Empty for the name of the source.')}
        maxLength={70}
        spellcheck={false}
        value={fields.name}
        onValue={set('name')}
      />
      <div class="form-grid">
        <SelectField
          label={t('Prompts in front of texts')}
          value={fields.prompts}
          options={[fromSource, { value: 'none', label: t('none') }, { value: 'e5', label: 'E5' }]}
          onValue={set('prompts')}
        />
        <SelectField
          label={t('Pooling')}
          value={fields.pooling}
          options={[fromSource, ...['mean', 'cls', 'last'].map((value) => ({ value, label: value }))]}
          onValue={set('pooling')}
        />
      </div>
      <TextField
        label={t('Tokens at most')}
        hint={t('Empty for the length that the source says.')}
        type="number"
        min={8}
        max={1_000_000}
        value={fields.max_tokens}
        onValue={set('max_tokens')}
      />
    </>
  );
}

interface PlanDialogProps {
  readonly plan: PlanView;
  readonly body: Record<string, unknown>;
  readonly onBack: () => void;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}

function PlanDialog({ plan, body, onBack, onClose, onStarted }: PlanDialogProps) {
  const install = useAction(async () => {
    await call<PlanView>(ADDRESS, { method: 'POST', json: body });
    toast(t('The installation has begun.'));
    onStarted();
    onClose();
  });
  return (
    <Dialog title={t('Install {name}?', { name: plan.name })} onClose={onClose}>
      <div class="stack">
        <Facts
          of={[
            [t('Source'), plan.source],
            [t('Licence'), plan.licence ?? t('not stated')],
            [t('Size'), formatBytes(plan.bytes)],
            [t('Free space'), formatBytes(plan.free_bytes)],
          ]}
        />
        <p class="quiet">{t('Check that the licence allows your use. The model runs one text before it is added.')}</p>
        <ActionError error={install.error} />
        <div class="form-actions">
          <Button onClick={onBack}>{t('Another source')}</Button>
          <Button look="primary" isBusy={install.isRunning} onClick={() => install.run()}>
            {t('Install')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
