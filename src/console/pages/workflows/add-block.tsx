import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useAction, useResource } from '../../lib/resource.ts';
import type { BlockTypeView } from '../../types.ts';
import { ActionError, Button, Form, Notice, SelectField, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { type FormTexts, type ObjectSchema, valuesOf } from '../../ui/schema-form/schema.ts';
import { SchemaFields } from '../../ui/schema-form/schema-fields.tsx';
import { Loaded } from '../../ui/states.tsx';
import { blocksOf, parseDefinition } from './definition.ts';

interface AddBlockProps {
  /** Definition as JSON. */
  readonly definition: string;
  readonly onDefinition: (definition: string) => void;
}

/** Button that adds a block to a definition, with a form for its arguments. */
export function AddBlock({ definition, onDefinition }: AddBlockProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div>
      <Button small icon="plus" onClick={() => setIsOpen(true)}>
        {t('Add a block')}
      </Button>
      {isOpen && (
        <AddBlockDialog definition={definition} onDefinition={onDefinition} onClose={() => setIsOpen(false)} />
      )}
    </div>
  );
}

function AddBlockDialog({ definition, onDefinition, onClose }: AddBlockProps & { onClose: () => void }) {
  const types = useResource('workflow blocks', (signal) =>
    call<readonly BlockTypeView[]>('/v1/workflow_blocks', { signal }),
  );
  return (
    <Dialog title={t('Add a block')} onClose={onClose}>
      <Loaded of={types}>
        {(all) => <BlockForm types={all} definition={definition} onDefinition={onDefinition} onClose={onClose} />}
      </Loaded>
    </Dialog>
  );
}

interface BlockFormProps extends AddBlockProps {
  readonly types: readonly BlockTypeView[];
  readonly onClose: () => void;
}

function BlockForm({ types, definition, onDefinition, onClose }: BlockFormProps) {
  const [type, setType] = useState(types[0]?.type ?? '');
  const [id, setId] = useState('');
  const [texts, setTexts] = useState<FormTexts>({});
  const chosen = types.find((each) => each.type === type);
  const schema: ObjectSchema = chosen?.args_schema ?? {};
  const add = useAction(async () => {
    const before = parseDefinition(definition);
    const block = { id: id.trim(), type, with: valuesOf(schema, texts) };
    onDefinition(JSON.stringify({ ...before, blocks: [...blocksOf(before), block] }, null, 2));
    onClose();
  });
  return (
    <Form onSubmit={() => add.run()}>
      <div class="form-grid">
        <SelectField
          label={t('Type')}
          value={type}
          options={types.map((each) => ({ value: each.type, label: translateName(each.type) }))}
          onValue={(value) => {
            setType(value);
            setTexts({});
          }}
        />
        <TextField
          label={t('Id of the block')}
          hint={t('Lower-case letters, digits, - and _. Other blocks refer to it.')}
          required
          maxLength={64}
          value={id}
          onValue={setId}
        />
      </div>
      {chosen?.has_side_effect && (
        <Notice>{t('It changes or sends something, so each run asks for an approval.')}</Notice>
      )}
      <p class="faint">{t('A text may hold {{inputs.name}} or {{blocks.id.output}}.')}</p>
      <SchemaFields schema={schema} texts={texts} onTexts={setTexts} />
      <ActionError error={add.error} />
      <div class="form-actions">
        <Button onClick={onClose}>{t('Cancel')}</Button>
        <Button type="submit" look="primary">
          {t('Add a block')}
        </Button>
      </div>
    </Form>
  );
}
