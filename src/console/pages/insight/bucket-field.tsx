import { t } from '../../lib/i18n.ts';
import type { BucketView } from '../../types.ts';
import { SelectField } from '../../ui/controls.tsx';

interface BucketFieldProps {
  readonly buckets: readonly BucketView[];
  readonly value: string;
  readonly onValue: (id: string) => void;
}

/** Choice among the buckets of a search. Shows nothing if there is only one. */
export function BucketField({ buckets, value, onValue }: BucketFieldProps) {
  if (buckets.length < 2) return null;
  const options = buckets.map(({ id, name }) => ({ value: id, label: name }));
  return <SelectField label={t('Bucket')} value={value} options={options} onValue={onValue} />;
}
