import { t } from '../../lib/i18n.ts';
import { Status } from '../../ui/status.tsx';

export function DocumentState({ status, searchable }: { status: string; searchable: boolean }) {
  return (
    <>
      <Status of={status} />
      {!searchable && <span class="sub">{t('not searchable')}</span>}
    </>
  );
}
