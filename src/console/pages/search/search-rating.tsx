import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { ActionError, IconButton } from '../../ui/controls.tsx';

/** Thumbs for the results of a logged search. */
export function SearchRating({ searchId }: { searchId: string }) {
  const [isRated, setIsRated] = useState(false);
  const rate = useAction(async (helpful: boolean) => {
    await call(pathOf('v1', 'search', 'log', searchId, 'feedback'), { method: 'POST', json: { helpful } });
    setIsRated(true);
  });
  if (isRated) {
    return (
      <p class="panel-body faint" role="status">
        {t('Thank you.')}
      </p>
    );
  }
  return (
    <div class="panel-body">
      <div class="row">
        <span class="faint">{t('Did these results help?')}</span>
        <IconButton icon="thumbUp" label={t('These results helped')} onClick={() => rate.run(true)} />
        <IconButton icon="thumbDown" label={t('These results did not help')} onClick={() => rate.run(false)} />
      </div>
      <ActionError error={rate.error} />
    </div>
  );
}
