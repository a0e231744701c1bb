import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useAction } from '../../lib/resource.ts';
import { mayEditMetadata } from '../../lib/session.ts';
import { splitList } from '../../lib/split-list.ts';
import type { DocumentView, EditReply } from '../../types.ts';
import { Button, Check, Form, FormEnd, SelectField, TextField } from '../../ui/controls.tsx';
import { Facts, Panel } from '../../ui/page.tsx';
import { PrivacyLevelField } from '../../ui/privacy-level-field.tsx';
import { toast } from '../../ui/toast.tsx';

export const CLASSIFICATIONS = ['internal', 'public', 'restricted', 'confidential'] as const;
export const REVIEWS = ['pending', 'approved', 'rejected'] as const;
export const optionsOf = (names: readonly string[]) => names.map((value) => ({ value, label: translateName(value) }));

/** Access policy of a document, edited in place. */
export function PolicyPanel({
  document,
  onSaved,
}: {
  document: DocumentView;
  onSaved: (warnings: readonly string[]) => void;
}) {
  const [isEditing, setIsEditing] = useState(false);
  const edit = !isEditing && mayEditMetadata() && (
    <Button small onClick={() => setIsEditing(true)}>
      {t('Edit')}
    </Button>
  );
  return (
    <Panel title={t('Access')} actions={edit} padded>
      {isEditing ? (
        <PolicyForm document={document} onDone={() => setIsEditing(false)} onSaved={onSaved} />
      ) : (
        <Facts
          of={[
            [t('Privacy level'), document.privacy_level],
            [t('Classification'), translateName(document.classification)],
            [t('Review'), translateName(document.review_status)],
            [t('Department'), document.scope ?? t('All')],
            [t('Users'), listed(document.access?.users)],
            [t('Groups'), listed(document.access?.groups)],
            [t('Public'), document.public_accessible ? t('Yes') : t('No')],
          ]}
        />
      )}
    </Panel>
  );
}

/** Format a part of an access list. Without a list, it doesn't restrict who may read. */
function listed(names: readonly string[] | undefined): string {
  return names === undefined ? t('All') : names.join(', ') || '–';
}

function PolicyForm({
  document,
  onDone,
  onSaved,
}: {
  document: DocumentView;
  onDone: () => void;
  onSaved: (warnings: readonly string[]) => void;
}) {
  const [level, setLevel] = useState(String(document.privacy_level));
  const [classification, setClassification] = useState(document.classification);
  const [review, setReview] = useState(document.review_status);
  const [scope, setScope] = useState(document.scope ?? '');
  const [users, setUsers] = useState(document.access?.users.join(', ') ?? '');
  const [groups, setGroups] = useState(document.access?.groups.join(', ') ?? '');
  const [isPublic, setIsPublic] = useState(document.public_accessible);
  const save = useAction(async () => {
    const json = {
      ...(Number(level) === document.privacy_level ? {} : { privacy_level: Number(level) }),
      ...(classification === document.classification ? {} : { classification }),
      ...(review === document.review_status ? {} : { review_status: review }),
      ...(isPublic === document.public_accessible ? {} : { public_accessible: isPublic }),
      ...(scope === (document.scope ?? '') ? {} : { metadata: { scope: scope === '' ? null : scope } }),
      ...accessChange(document, splitList(users), splitList(groups)),
      reindex: false,
    };
    const path = pathOf('v1', 'buckets', document.bucket_id, 'documents', document.id, 'metadata');
    const reply = await call<EditReply>(path, { method: 'PATCH', json });
    toast(t('Saved'));
    onDone();
    onSaved(reply.warnings);
  });
  return (
    <Form onSubmit={() => save.run()} aria-label={t('Access')}>
      <PrivacyLevelField label={t('Privacy level')} value={level} onValue={setLevel} />
      <SelectField
        label={t('Classification')}
        hint={t(
          'Restricted and confidential documents never leave the organization, as through a messenger. Inside, it hides nothing.',
        )}
        value={classification}
        options={optionsOf(CLASSIFICATIONS)}
        onValue={setClassification}
      />
      <SelectField
        label={t('Review')}
        hint={t('A label that searches can filter by. It hides nothing.')}
        value={review}
        options={optionsOf(REVIEWS)}
        onValue={setReview}
      />
      <TextField label={t('Department')} hint={t('Empty for all departments.')} value={scope} onValue={setScope} />
      <TextField
        label={t('Users')}
        hint={t('E-mail addresses or ids, separated by commas. Without users and groups, all may read it.')}
        value={users}
        onValue={setUsers}
      />
      <TextField
        label={t('Groups')}
        hint={t('Names, separated by commas. Only members, the users above and administrators read it.')}
        value={groups}
        onValue={setGroups}
      />
      <Check label={t('Public: readable from outside of the organization')} isOn={isPublic} onToggle={setIsPublic} />
      <FormEnd of={save} submit={t('Save')} onLeave={onDone} />
    </Form>
  );
}

function accessChange({ access }: DocumentView, users: string[], groups: string[]) {
  const before = JSON.stringify([access?.users ?? [], access?.groups ?? []]);
  if (JSON.stringify([users, groups]) === before) return {};
  return { access: users.length + groups.length === 0 ? null : { users, groups } };
}
