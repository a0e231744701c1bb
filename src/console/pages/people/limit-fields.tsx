import type { KeyLimits } from '../../../access/key-limits.ts';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { type Page, useResource } from '../../lib/resource.ts';
import type { ModelView } from '../../types.ts';
import { Check, TextField } from '../../ui/controls.tsx';

const QUOTAS = [
  ['embed', 'Single texts a month'],
  ['embed_batch', 'Texts in batches a month'],
  ['embed_image', 'Images a month'],
  ['answers', 'Answers a month'],
] as const;
const RATES = [
  ['search', 'Searches a minute'],
  ['upload', 'Uploads a minute'],
  ['embed', 'Requests with one text a minute'],
  ['embed_batch', 'Requests with several texts a minute'],
  ['embed_image', 'Requests with images a minute'],
  ['answers', 'Questions a minute'],
] as const;

interface LimitFieldsProps {
  readonly limits: KeyLimits;
  readonly onLimits: (limits: KeyLimits) => void;
}

/** Fields for a key's limits. An empty field means no limit. */
export function LimitFields({ limits, onLimits }: LimitFieldsProps) {
  const { quotas = {}, requests_per_minute: rates = {}, models = [], buckets = [] } = limits;
  return (
    <details open={Object.keys(limits).length > 0}>
      <summary>{t('Limits')}</summary>
      <div class="stack">
        <p class="quiet">{t('They apply to this key, besides those of the plan. Leave a field empty for no limit.')}</p>
        <div class="form-grid">
          {QUOTAS.map(([axis, label]) => (
            <NumberField
              key={axis}
              label={t(label)}
              min={0}
              value={quotas[axis]}
              onValue={(value) => onLimits({ ...limits, quotas: { ...quotas, [axis]: value } })}
            />
          ))}
          {RATES.map(([axis, label]) => (
            <NumberField
              key={axis}
              label={t(label)}
              min={1}
              value={rates[axis]}
              onValue={(value) => onLimits({ ...limits, requests_per_minute: { ...rates, [axis]: value } })}
            />
          ))}
        </div>
        <ModelChoice chosen={models} onChosen={(chosen) => onLimits({ ...limits, models: [...chosen] })} />
        <BucketChoice chosen={buckets} onChosen={(chosen) => onLimits({ ...limits, buckets: [...chosen] })} />
      </div>
    </details>
  );
}

/** Return limits without their empty parts, or null if nothing is left. */
export function withoutEmpty(limits: KeyLimits): KeyLimits | null {
  const parts = Object.entries(limits).map(([name, part]) => [name, withoutUndefined(part ?? {})] as const);
  const left = parts.filter(([, part]) => Object.keys(part).length > 0);
  return left.length === 0 ? null : Object.fromEntries(left);
}

function withoutUndefined(part: object): object {
  if (Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
}

function NumberField({
  label,
  min,
  value,
  onValue,
}: {
  label: string;
  min: number;
  value: number | undefined;
  onValue: (value: number | undefined) => void;
}) {
  return (
    <TextField
      label={label}
      type="number"
      min={min}
      value={value === undefined ? '' : String(value)}
      onValue={(text) => onValue(text === '' ? undefined : Number(text))}
    />
  );
}

interface ChoiceProps {
  readonly chosen: readonly string[];
  readonly onChosen: (chosen: readonly string[]) => void;
}

function ModelChoice(props: ChoiceProps) {
  const models = useResource('models', (signal) => call<Page<ModelView>>('/v1/models', { signal }));
  const available = (models.data?.data ?? []).filter(({ available, kind }) => available && kind !== 'answers');
  return (
    <Choice {...props} title={t('Only these models')} options={available.map(({ id }) => ({ value: id, label: id }))} />
  );
}

function BucketChoice(props: ChoiceProps) {
  const buckets = useBuckets();
  const options = (buckets.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
  return <Choice {...props} title={t('Only these buckets')} options={options} />;
}

/** Check boxes. A selected item that is no longer offered is shown by its id. */
function Choice({
  title,
  options,
  chosen,
  onChosen,
}: ChoiceProps & { title: string; options: readonly { value: string; label: string }[] }) {
  const gone = chosen.filter((value) => !options.some((option) => option.value === value));
  const all = [...options, ...gone.map((value) => ({ value, label: value }))];
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="scope-grid">
        {all.map(({ value, label }) => (
          <Check
            key={value}
            label={label}
            isOn={chosen.includes(value)}
            onToggle={(isOn) => onChosen(isOn ? [...chosen, value] : chosen.filter((each) => each !== value))}
          />
        ))}
      </div>
    </fieldset>
  );
}
