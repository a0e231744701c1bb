import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { mayEditMetadata } from '../../lib/session.ts';
import type { DocumentView, EditReply } from '../../types.ts';
import { Button, Check, Form, FormEnd } from '../../ui/controls.tsx';
import { Facts, Panel } from '../../ui/page.tsx';
import { type Pair, PairRows, pairOf } from '../../ui/pair-rows.tsx';
import { toast } from '../../ui/toast.tsx';

/** Metadata of a document, edited in place. */
export function MetadataPanel({
  document,
  onSaved,
}: {
  document: DocumentView;
  onSaved: (warnings: readonly string[]) => void;
}) {
  const [isEditing, setIsEditing] = useState(false);
  const entries = Object.entries(document.metadata);
  const edit = !isEditing && mayEditMetadata() && (
    <Button small onClick={() => setIsEditing(true)}>
      {t('Edit')}
    </Button>
  );
  return (
    <Panel title={t('Metadata')} actions={edit} padded>
      {isEditing ? (
        <MetadataForm document={document} onDone={() => setIsEditing(false)} onSaved={onSaved} />
      ) : entries.length === 0 ? (
        <p class="quiet">{t('No metadata yet. It is used by filters of searches.')}</p>
      ) : (
        <Facts of={entries} />
      )}
    </Panel>
  );
}

/** Find the change from the stored metadata to the rows of the form; null removes a key. */
function changeOf(stored: Readonly<Record<string, string>>, pairs: readonly Pair[]): Record<string, string | null> {
  const wanted = new Map(pairs.filter(({ key }) => key.trim() !== '').map(({ key, value }) => [key.trim(), value]));
  const removed = Object.keys(stored).filter((key) => !wanted.has(key));
  const changed = [...wanted].filter(([key, value]) => stored[key] !== value);
  return { ...Object.fromEntries(removed.map((key) => [key, null])), ...Object.fromEntries(changed) };
}

function MetadataForm({
  document,
  onDone,
  onSaved,
}: {
  document: DocumentView;
  onDone: () => void;
  onSaved: (warnings: readonly string[]) => void;
}) {
  const [pairs, setPairs] = useState<readonly Pair[]>(() => [
    ...Object.entries(document.metadata).map(([key, value]) => pairOf(key, value)),
    pairOf(),
  ]);
  const [reindex, setReindex] = useState(false);
  const save = useAction(async () => {
    const json = { metadata: changeOf(document.metadata, pairs), reindex };
    const path = pathOf('v1', 'buckets', document.bucket_id, 'documents', document.id, 'metadata');
    const reply = await call<EditReply>(path, { method: 'PATCH', json });
    toast(t('Saved'));
    onDone();
    onSaved(reply.warnings);
  });
  return (
    <Form onSubmit={() => save.run()} aria-label={t('Metadata')}>
      <PairRows pairs={pairs} onPairs={setPairs} />
      <Check label={t('Make the vectors anew')} isOn={reindex} onToggle={setReindex} />
      <FormEnd of={save} submit={t('Save')} onLeave={onDone} />
    </Form>
  );
}
