import { useState } from 'preact/hooks';
import { t } from '../lib/i18n.ts';
import { type Outcome, runEach } from '../lib/run-each.ts';
import { Button, Notice } from './controls.tsx';
import { ConfirmDialog } from './dialog.tsx';
import type { IconName } from './icons.tsx';

/** Action on each selected row. */
interface RowAction<T> {
  readonly label: string;
  readonly icon?: IconName;
  readonly run: (row: T) => Promise<unknown>;
  /** Question to ask first, for an irreversible action. */
  readonly question?: string;
}

/** Action on all selected rows together, which opens its own dialog. */
interface DialogAction<T> {
  readonly label: string;
  readonly icon?: IconName;
  readonly open: (rows: readonly T[]) => void;
}

export type BulkAction<T> = RowAction<T> | DialogAction<T>;

interface BulkBarProps<T> {
  readonly rows: readonly T[];
  readonly actions: readonly BulkAction<T>[];
  readonly nameOf: (row: T) => string;
  readonly onEnd: () => void;
}

const FAULTS_SHOWN = 5;

/** Actions on the selected rows of a table, with progress and failed rows. */
export function BulkBar<T>({ rows, actions, nameOf, onEnd }: BulkBarProps<T>) {
  const [progress, setProgress] = useState<{ ended: number; total: number } | null>(null);
  const [outcome, setOutcome] = useState<Outcome<T> | null>(null);
  const [asked, setAsked] = useState<RowAction<T> | null>(null);
  const begin = (action: BulkAction<T>) => {
    if ('open' in action) action.open(rows);
    else if (action.question === undefined) void start(action);
    else setAsked(action);
  };
  const start = async (action: RowAction<T>) => {
    if (progress !== null) return;
    const total = rows.length;
    setOutcome(null);
    setProgress({ ended: 0, total });
    setOutcome(await runEach(rows, action.run, (ended) => setProgress({ ended, total })));
    setProgress(null);
    onEnd();
  };
  if (rows.length === 0 && outcome === null) return null;
  return (
    <div class="bulk-bar">
      {rows.length > 0 && (
        <div class="row">
          <strong>{t('{count} selected', { count: rows.length })}</strong>
          {actions.map((action) => (
            <Button
              key={action.label}
              small
              look={'open' in action || action.question === undefined ? 'plain' : 'danger'}
              isBusy={progress !== null}
              {...(action.icon === undefined ? {} : { icon: action.icon })}
              onClick={() => begin(action)}
            >
              {action.label}
            </Button>
          ))}
        </div>
      )}
      {progress !== null && (
        <progress value={progress.ended} max={progress.total} aria-label={t('Progress of the action')} />
      )}
      {outcome !== null && <OutcomeNotice outcome={outcome} nameOf={nameOf} onClose={() => setOutcome(null)} />}
      {asked !== null && (
        <ConfirmDialog
          title={asked.label}
          action={asked.label}
          onConfirm={() => start(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{asked.question}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

interface OutcomeNoticeProps<T> {
  readonly outcome: Outcome<T>;
  readonly nameOf: (row: T) => string;
  readonly onClose: () => void;
}

function OutcomeNotice<T>({ outcome: { done, failed }, nameOf, onClose }: OutcomeNoticeProps<T>) {
  const title =
    failed.length === 0
      ? t('Done for {count}', { count: done.length })
      : t('Done for {count}, refused for {failed}', { count: done.length, failed: failed.length });
  return (
    <Notice tone={failed.length === 0 ? 'good' : 'warn'} title={title}>
      {failed.length > 0 && (
        <ul class="stack tight">
          {failed.slice(0, FAULTS_SHOWN).map(({ row, error }) => (
            <li key={nameOf(row)}>{`${nameOf(row)}: ${error.message}`}</li>
          ))}
          {failed.length > FAULTS_SHOWN && <li>{t('and {count} more', { count: failed.length - FAULTS_SHOWN })}</li>}
        </ul>
      )}
      <div>
        <Button small look="quiet" onClick={onClose}>
          {t('Close')}
        </Button>
      </div>
    </Notice>
  );
}
