import { t } from '../../lib/i18n.ts';
import { linkTo } from '../../lib/router.ts';
import type { BulkEditReply } from '../../types.ts';
import { Changes } from '../../ui/changes.tsx';
import { Warnings } from '../../ui/controls.tsx';
import { Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';

interface ReplyProps {
  readonly reply: BulkEditReply;
  readonly statement: string;
  /** True to show the changed fields of each document instead of its metadata. */
  readonly isEdit: boolean;
}

/** Return the number after LIMIT at the end of a statement, or null if there is none. */
function limitOf(statement: string): number | null {
  const digits = /\blimit\s+(\d+)\s*;?\s*$/i.exec(statement)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Documents that a statement matches, and what happens to each. */
export function ReplyView({ reply, statement, isEdit }: ReplyProps) {
  if (reply.matched === 0)
    return <Empty title={t('No document matches')}>{t('Change the condition and try again.')}</Empty>;
  return (
    <>
      <div class="panel-body stack">
        <p>
          {reply.matched === limitOf(statement)
            ? t('The first {count} of the documents that match.', { count: reply.matched })
            : t('{count|document matches|documents match}.', { count: reply.matched })}{' '}
          {reply.reindex_queued > 0 && t('The vectors of {count} are made anew.', { count: reply.reindex_queued })}
        </p>
        <Warnings of={reply.warnings} />
      </div>
      <Table
        caption={t('Documents')}
        rows={reply.items}
        keyOf={({ id }) => id}
        columns={[
          { title: t('Document'), cell: ({ id }) => <a href={linkTo('documents', id)}>{id}</a> },
          isEdit
            ? { title: t('Change'), cell: ({ before, after }) => <Changes before={before} after={after} /> }
            : { title: t('Metadata'), cell: ({ metadata }) => describe(metadata) },
          { title: t('Searchable'), wide: true, cell: ({ searchable }) => (searchable ? t('Yes') : t('No')) },
          { title: t('Note'), wide: true, cell: ({ warnings }) => warnings.join(' ') },
        ]}
      />
    </>
  );
}

function describe(metadata: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(metadata).map(([key, value]) => `${key} = ${value}`);
  return pairs.length === 0 ? '–' : pairs.join(', ');
}
