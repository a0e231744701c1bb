import { useState } from 'preact/hooks';
import { formatAgo, formatDuration, formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { mayUse } from '../../lib/session.ts';
import type { Asked, LogEntry } from '../../types.ts';
import { Button } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { ExportButton } from '../usage/export-button.tsx';
import { AnswerDialog } from './answer-dialog.tsx';
import { JudgeDialog } from './judge-dialog.tsx';
import type { StepProps } from './step-props.ts';
import { SynonymDialog } from './synonym-dialog.tsx';

interface AskedPanelProps {
  readonly title: string;
  readonly empty: string;
  readonly rows: readonly Asked[];
  /** True if the questions are still unanswered. */
  readonly isOpen?: boolean;
}

/** Queries with their frequency, and the steps from a question to its answer. */
export function AskedPanel({ title, empty, rows, isOpen = false }: AskedPanelProps) {
  const exported = rows.map((row) => [row.query, row.searches, row.unanswered, row.last_at]);
  return (
    <Panel
      title={title}
      actions={
        <ExportButton
          name={isOpen ? 'unanswered' : 'top-queries'}
          columns={['query', 'searches', 'unanswered', 'last_at']}
          rows={exported}
        />
      }
    >
      {rows.length === 0 ? (
        <Empty title={empty} />
      ) : (
        <Table
          caption={title}
          rows={rows}
          keyOf={(row) => row.last_id}
          columns={[
            { title: t('Query'), cell: ({ query }) => <span class="result-text whole">{query}</span> },
            { title: t('Searches'), numeric: true, cell: ({ searches }) => formatNumber(searches) },
            {
              title: t('Last'),
              wide: true,
              class: 'nowrap',
              cell: ({ last_at: at }) => formatAgo(at),
            },
            ...(isOpen ? [{ title: t('Next step'), cell: (row: Asked) => <Steps asked={row} /> }] : []),
          ]}
        />
      )}
    </Panel>
  );
}

/** Buttons that lead from a question to its answer. */
function Steps({ asked }: { asked: Asked }) {
  const buckets = useBuckets();
  const [open, setOpen] = useState<'synonym' | 'answer' | 'judge' | null>(null);
  const close = () => setOpen(null);
  const searched = (buckets.data ?? []).filter(({ id }) => asked.bucket_ids.includes(id));
  if (searched.length === 0) return null;
  const given: StepProps = { asked, buckets: searched, onClose: close };
  return (
    <>
      <div class="row">
        {mayUse('documents:write') && (
          <Button small onClick={() => setOpen('answer')}>
            {t('Add a document')}
          </Button>
        )}
        {mayUse('buckets:manage') && (
          <Button small onClick={() => setOpen('synonym')}>
            {t('Add a synonym')}
          </Button>
        )}
        <Button small onClick={() => setOpen('judge')}>
          {t('Judge a document')}
        </Button>
      </div>
      {open === 'answer' && <AnswerDialog {...given} />}
      {open === 'synonym' && <SynonymDialog {...given} />}
      {open === 'judge' && <JudgeDialog {...given} />}
    </>
  );
}

/** Slowest searches. */
export function SlowPanel({ rows }: { rows: readonly LogEntry[] }) {
  if (rows.length === 0) return null;
  return (
    <Panel title={t('Slowest')}>
      <Table
        caption={t('Slowest')}
        rows={rows}
        keyOf={({ id }) => id}
        columns={[
          { title: t('Query'), cell: ({ query }) => <span class="result-text whole">{query}</span> },
          { title: t('Duration'), numeric: true, cell: ({ took_ms: ms }) => formatDuration(ms) },
          { title: t('Mode'), wide: true, cell: ({ mode }) => mode },
          { title: t('Asked'), wide: true, class: 'nowrap', cell: ({ asked_at: at }) => formatAgo(at) },
        ]}
      />
    </Panel>
  );
}
