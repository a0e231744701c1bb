import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { ActionError, Button, Form, IconButton, TextField } from '../../ui/controls.tsx';

/** Thumbs for a kept answer. A thumb down asks for the reason. */
export function Rating({ answerId }: { answerId: string }) {
  const [isAsking, setIsAsking] = useState(false);
  const [reason, setReason] = useState('');
  const [isRated, setIsRated] = useState(false);
  const rate = useAction(async (rating: 'up' | 'down') => {
    const json = { rating, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) };
    await call(pathOf('v1', 'answers', answerId, 'rating'), { method: 'PUT', json });
    setIsRated(true);
  });
  if (isRated) return <p class="faint">{t('Thank you.')}</p>;
  return (
    <div class="stack tight">
      <div class="row">
        <IconButton icon="thumbUp" label={t('This answer helped')} onClick={() => rate.run('up')} />
        <IconButton
          icon="thumbDown"
          label={t('This answer did not help')}
          aria-expanded={isAsking}
          onClick={() => setIsAsking(!isAsking)}
        />
      </div>
      {isAsking && (
        <Form onSubmit={() => rate.run('down')}>
          <TextField label={t('What was wrong or missing?')} maxLength={1000} value={reason} onValue={setReason} />
          <div>
            <Button type="submit" small isBusy={rate.isRunning}>
              {t('Send')}
            </Button>
          </div>
        </Form>
      )}
      <ActionError error={rate.error} />
    </div>
  );
}
