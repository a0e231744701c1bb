import { t } from '../../lib/i18n.ts';
import type { ApiKey } from '../../types.ts';
import { CopyButton } from '../../ui/code.tsx';
import { Button, Notice } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** New key, whose text is shown once. */
export type NewKey = ApiKey & { readonly key: string };

export function SecretDialog({ created, onClose }: { created: NewKey; onClose: () => void }) {
  return (
    <Dialog title={t('The key {name}', { name: created.name })}>
      <Notice tone="warn" title={t('Copy the key now')}>
        {t('It is shown only here and only once.')}
      </Notice>
      <div class="secret-once">
        <code>{created.key}</code>
        <CopyButton text={created.key} />
      </div>
      <div class="form-actions">
        <Button look="primary" onClick={onClose}>
          {t('I have stored it')}
        </Button>
      </div>
    </Dialog>
  );
}
