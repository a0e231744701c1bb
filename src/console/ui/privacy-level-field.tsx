import { t } from '../lib/i18n.ts';
import { TextField } from './controls.tsx';

/** Field for a privacy level, 1 to 10, with an explanation. */
export function PrivacyLevelField({
  label,
  value,
  onValue,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
}) {
  return (
    <TextField
      label={label}
      hint={t(
        'Only people and keys of this level and above find the document. Members have 3, unless you set another.',
      )}
      type="number"
      min={1}
      max={10}
      required
      value={value}
      onValue={onValue}
    />
  );
}
