import { useState } from 'preact/hooks';
import type { KeyLimits } from '../../../access/key-limits.ts';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { currentCaller } from '../../lib/session.ts';
import type { ApiKey, Scope } from '../../types.ts';
import { Check, Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { LimitFields, withoutEmpty } from './limit-fields.tsx';
import type { NewKey } from './secret-dialog.tsx';

const LIFETIMES_DAYS = ['7', '30', '90', '365'];
const SCOPES_AT_FIRST: readonly Scope[] = ['embed', 'search', 'documents:write'];
const LEVEL_AT_FIRST = 5;

interface KeyDialogProps {
  /** Key to edit, or undefined to create one. */
  readonly known?: ApiKey;
  readonly onClose: () => void;
  readonly onCreated: (key: NewKey) => void;
  readonly onSaved: () => void;
}

export function KeyDialog({ known, onClose, onCreated, onSaved }: KeyDialogProps) {
  const { scopes: own, auth_level: ownLevel } = currentCaller();
  const [name, setName] = useState(known?.name ?? '');
  const [scopes, setScopes] = useState<readonly Scope[]>(
    known?.scopes ?? SCOPES_AT_FIRST.filter((scope) => own.includes(scope)),
  );
  const [level, setLevel] = useState(String(known?.auth_level ?? Math.min(LEVEL_AT_FIRST, ownLevel)));
  const [days, setDays] = useState(known ? 'same' : '90');
  const [limits, setLimits] = useState<KeyLimits>(known?.limits ?? {});
  const save = useAction(async () => {
    const lifetime =
      days === 'same' ? {} : days === '' ? (known ? { expires_in_days: null } : {}) : { expires_in_days: Number(days) };
    const json = { name: name.trim(), scopes, auth_level: Number(level), ...lifetime };
    const limited = withoutEmpty(limits);
    if (known) {
      await call<ApiKey>(pathOf('v1', 'keys', known.id), { method: 'PATCH', json: { ...json, limits: limited } });
      toast(t('Saved'));
      onSaved();
      onClose();
    } else {
      const withLimits = limited === null ? json : { ...json, limits: limited };
      onCreated(await call<NewKey>('/v1/keys', { method: 'POST', json: withLimits }));
    }
  });
  const lifetimes = [
    ...(known ? [{ value: 'same', label: t('As it is') }] : []),
    ...LIFETIMES_DAYS.map((value) => ({ value, label: t('In {days} days', { days: value }) })),
    { value: '', label: t('Never') },
  ];
  return (
    <Dialog title={known ? t('Edit the key {name}', { name: known.name }) : t('New key')} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <TextField
          label={t('Name')}
          hint={t('Where the key is used.')}
          required
          maxLength={100}
          value={name}
          onValue={setName}
        />
        <ScopeChoice own={own} scopes={scopes} onScopes={setScopes} />
        <div class="form-grid">
          <TextField
            label={t('Level')}
            hint={t('Highest privacy level of documents that it sees, up to {level}.', { level: ownLevel })}
            type="number"
            min={1}
            max={ownLevel}
            required
            value={level}
            onValue={setLevel}
          />
          <SelectField label={t('Expires')} value={days} options={lifetimes} onValue={setDays} />
        </div>
        <LimitFields limits={limits} onLimits={setLimits} />
        <FormEnd of={save} submit={known ? t('Save') : t('Create')} disabled={scopes.length === 0} onLeave={onClose} />
      </Form>
    </Dialog>
  );
}

function ScopeChoice({
  own,
  scopes,
  onScopes,
}: {
  own: readonly Scope[];
  scopes: readonly Scope[];
  onScopes: (scopes: readonly Scope[]) => void;
}) {
  return (
    <fieldset>
      <legend>{t('Scopes')}</legend>
      <div class="scope-grid">
        {own.map((scope) => (
          <Check
            key={scope}
            label={<code>{scope}</code>}
            isOn={scopes.includes(scope)}
            onToggle={(isOn) => onScopes(own.filter((each) => (each === scope ? isOn : scopes.includes(each))))}
          />
        ))}
      </div>
    </fieldset>
  );
}
