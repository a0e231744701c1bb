import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import type { SearchLogLevel } from '../../types.ts';
import { ActionError, Button, Form, SelectField } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';

const LEVELS = ['off', 'counts', 'queries'] as const;
const NAMES = { off: 'Nothing', counts: 'Numbers by day', queries: 'Numbers and queries' } as const;

interface LevelProps {
  readonly level: SearchLogLevel;
  readonly mayChange: boolean;
  readonly onChange: () => void;
}

/** Choice of what the organization logs of its searches, within the operator's limit. */
export function LevelPanel({
  level: { level, level_max: max, retention_days: days },
  mayChange,
  onChange,
}: LevelProps) {
  const [chosen, setChosen] = useState(level);
  const save = useAction(async () => {
    await call('/v1/search/log/level', { method: 'PUT', json: { level: chosen } });
    toast(t('Saved'));
    onChange();
  });
  const allowed = LEVELS.slice(0, LEVELS.indexOf(max) + 1);
  return (
    <Panel title={t('What is kept of searches')} padded>
      <Form onSubmit={() => save.run()}>
        <p>
          {t(
            'Queries are kept for {days|day|days}, without the names of those who asked. Administrators read them here.',
            {
              days,
            },
          )}
        </p>
        <SelectField
          label={t('Kept')}
          value={chosen}
          options={allowed.map((each) => ({ value: each, label: t(NAMES[each]) }))}
          onValue={(value) => setChosen(value as typeof level)}
          hint={max === 'queries' ? undefined : t('The operator allows no more (search.log_max).')}
        />
        <ActionError error={save.error} />
        {mayChange && (
          <div class="form-actions">
            {level === 'queries' && (
              <Button icon="download" onClick={() => location.assign('/v1/search/log/export?format=csv')}>
                {t('Export the log')}
              </Button>
            )}
            <Button type="submit" look="primary" isBusy={save.isRunning} disabled={chosen === level}>
              {t('Save')}
            </Button>
          </div>
        )}
      </Form>
    </Panel>
  );
}
