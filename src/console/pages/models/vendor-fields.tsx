import { t } from '../../lib/i18n.ts';
import { TextField } from '../../ui/controls.tsx';
import { PROTOCOL_FIELDS } from './vendor-view.ts';

interface VendorFieldsProps {
  readonly protocol: string;
  readonly values: Readonly<Record<string, string>>;
  readonly onValue: (name: string, value: string) => void;
}

/** Fields that only some protocols have: a region, a project, credentials of a cloud. */
export function VendorFields({ protocol, values, onValue }: VendorFieldsProps) {
  const texts: Readonly<Record<string, { label: string; hint: string; isSecret?: true; isOptional?: true }>> = {
    api_version: {
      label: t('Version of the API'),
      hint: t('A date, such as 2024-10-21. Empty for the v1 API.'),
      isOptional: true,
    },
    region: { label: t('Region of AWS'), hint: t('Such as us-east-1.') },
    access_key_id: {
      label: t('Access key of AWS'),
      hint: t('Instead of an API key. Without both, the role of the machine is used.'),
      isOptional: true,
    },
    secret_access_key: {
      label: t('Secret of the access key'),
      hint: t('It is stored encrypted and never shown again.'),
      isSecret: true,
      isOptional: true,
    },
    project: { label: t('Google Cloud project'), hint: t('The id of the project.') },
    location: { label: t('Location'), hint: t('Such as us-central1 or global.') },
    service_account: {
      label: t('Key of a service account'),
      hint: t('The content of its JSON file. It is stored encrypted and never shown again.'),
      isSecret: true,
    },
  };
  return (PROTOCOL_FIELDS[protocol] ?? []).map((name) => {
    const { label, hint, isSecret, isOptional } = texts[name] as (typeof texts)[string];
    return (
      <TextField
        key={name}
        label={label}
        hint={hint}
        type={isSecret ? 'password' : 'text'}
        autocomplete="off"
        required={!isOptional}
        spellcheck={false}
        value={values[name] ?? ''}
        onValue={(value) => onValue(name, value)}
      />
    );
  });
}
