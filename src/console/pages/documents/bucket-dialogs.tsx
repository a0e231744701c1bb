import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import type { BucketDetails, BucketView } from '../../types.ts';
import { Check, Form, FormEnd, TextField, Warnings } from '../../ui/controls.tsx';
import { ConfirmDialog, Dialog, type DialogProps } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';

type Edited = BucketView & { readonly warnings: readonly string[] };

export function PolicyDialog({ bucket, onClose, onSaved }: DialogProps & { bucket: BucketDetails }) {
  const { policy } = bucket;
  const [name, setName] = useState(bucket.name);
  const [level, setLevel] = useState(String(policy.max_privacy_level));
  const [publicLevel, setPublicLevel] = useState(String(policy.public_max_privacy_level));
  const [allowPublic, setAllowPublic] = useState(policy.allow_public);
  const [departments, setDepartments] = useState((policy.departments ?? []).join(', '));
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const save = useAction(async () => {
    const names = departments
      .split(',')
      .map((each) => each.trim())
      .filter(Boolean);
    const json = {
      ...(name === bucket.name ? {} : { name }),
      policy: {
        max_privacy_level: Number(level),
        public_max_privacy_level: Number(publicLevel),
        allow_public: allowPublic,
        departments: names.length === 0 ? null : names,
      },
    };
    const edited = await call<Edited>(pathOf('v1', 'buckets', bucket.id), { method: 'PATCH', json });
    toast(t('Saved'));
    onSaved();
    setWarnings(edited.warnings);
    if (edited.warnings.length === 0) onClose();
  });
  const levels = { type: 'number', min: 1, max: 10, required: true } as const;
  return (
    <Dialog title={t('Name and policy')} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <TextField label={t('Name')} required maxLength={63} value={name} onValue={setName} />
        <div class="form-grid">
          <TextField label={t('Highest privacy level')} {...levels} value={level} onValue={setLevel} />
          <TextField
            label={t('Highest level of public documents')}
            {...levels}
            value={publicLevel}
            onValue={setPublicLevel}
          />
        </div>
        <Check label={t('Documents may be public')} isOn={allowPublic} onToggle={setAllowPublic} />
        <TextField
          label={t('Departments')}
          hint={t('Names with commas between them; empty for all departments.')}
          value={departments}
          onValue={setDepartments}
        />
        <Warnings of={warnings} />
        <FormEnd of={save} submit={t('Save')} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

export function DeleteBucketDialog({ bucket, onClose }: { bucket: BucketDetails; onClose: () => void }) {
  const remove = async () => {
    await call(pathOf('v1', 'buckets', bucket.id), { method: 'DELETE', query: { confirm: bucket.name } });
    toast(t('Bucket {name} was deleted', { name: bucket.name }));
    navigate(linkTo('documents'));
  };
  return (
    <ConfirmDialog
      title={t('Delete this bucket?')}
      action={t('Delete for good')}
      typed={bucket.name}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{t('All its documents, chunks and files are removed for good, and its jobs are cancelled.')}</p>
    </ConfirmDialog>
  );
}
