import { t } from '../../lib/i18n.ts';
import type { BulkEditReply, DocumentView } from '../../types.ts';
import { Changes } from '../../ui/changes.tsx';
import { Notice, Warnings } from '../../ui/controls.tsx';

/** Maximum documents to show in a preview; the others are counted. */
const SHOWN_MAX = 20;

/** Changes that an edit would make in each document, with the old and the new value of each field. */
export function BulkPreview({ reply, documents }: { reply: BulkEditReply; documents: readonly DocumentView[] }) {
  const names = new Map(documents.map(({ id, file_name }) => [id, file_name]));
  const more = reply.items.length - SHOWN_MAX;
  return (
    <>
      <Notice title={t('What it would change')}>
        <ul class="stack tight">
          {reply.items.slice(0, SHOWN_MAX).map(({ id, before, after, warnings }) => (
            <li key={id}>
              {names.get(id) ?? id}
              <Changes before={before} after={after} />
              {warnings.length > 0 && <span class="sub">{warnings.join(' ')}</span>}
            </li>
          ))}
          {more > 0 && <li>{t('and {count} more', { count: more })}</li>}
        </ul>
      </Notice>
      <Warnings of={reply.warnings} />
    </>
  );
}
