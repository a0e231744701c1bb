import { t, translateName } from '../../lib/i18n.ts';
import { Field } from '../controls.tsx';
import { type FormTexts, kindOf, type ObjectSchema, type ValueSchema } from './schema.ts';

interface SchemaFieldsProps {
  readonly schema: ObjectSchema;
  readonly texts: FormTexts;
  readonly onTexts: (texts: FormTexts) => void;
  /** Names of fields that the caller's form already has. */
  readonly without?: readonly string[];
}

/** Form fields, one for each property of a JSON Schema, with required ones first. */
export function SchemaFields({ schema, texts, onTexts, without = [] }: SchemaFieldsProps) {
  const isRequired = (name: string) => schema.required?.includes(name) === true;
  const fields = Object.entries(schema.properties ?? {}).filter(([name]) => !without.includes(name));
  const control = ([name, field]: readonly [string, ValueSchema]) => (
    <SchemaField
      key={name}
      name={name}
      schema={field}
      isRequired={isRequired(name)}
      text={texts[name] ?? ''}
      onText={(text) => onTexts({ ...texts, [name]: text })}
    />
  );
  const optional = fields.filter(([name]) => !isRequired(name));
  return (
    <>
      {fields.filter(([name]) => isRequired(name)).map(control)}
      {optional.length > 0 && (
        <details open={optional.length === fields.length}>
          <summary>{t('Optional fields')}</summary>
          <div class="stack search-options">{optional.map(control)}</div>
        </details>
      )}
    </>
  );
}

interface SchemaFieldProps {
  readonly name: string;
  readonly schema: ValueSchema;
  readonly isRequired: boolean;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function SchemaField({ name, schema, isRequired, text, onText }: SchemaFieldProps) {
  const kind = kindOf(schema);
  const preset = schema.default === undefined ? undefined : String(schema.default);
  return (
    <Field label={translateName(name)} hint={hintOf(schema)}>
      {(attributes) => {
        if (kind === 'choice' || kind === 'flag') {
          const choices = kind === 'flag' ? ['true', 'false'] : (schema.enum ?? []).map(String);
          return (
            <select
              class="input"
              {...attributes}
              value={text}
              required={isRequired}
              onChange={(event) => onText(event.currentTarget.value)}
            >
              <option value="">{preset === undefined ? '–' : t('Default: {value}', { value: preset })}</option>
              {choices.map((choice) => (
                <option key={choice} value={choice}>
                  {kind === 'flag' ? (choice === 'true' ? t('Yes') : t('No')) : translateName(choice)}
                </option>
              ))}
            </select>
          );
        }
        if (kind === 'text' || kind === 'number') {
          return (
            <input
              class="input"
              {...attributes}
              inputMode={kind === 'number' ? 'decimal' : 'text'}
              value={text}
              required={isRequired}
              placeholder={preset}
              onInput={(event) => onText(event.currentTarget.value)}
            />
          );
        }
        return (
          <textarea
            class={kind === 'json' ? 'input code-input' : 'input'}
            rows={kind === 'long-text' ? 4 : 2}
            spellcheck={false}
            {...attributes}
            value={text}
            required={isRequired}
            onInput={(event) => onText(event.currentTarget.value)}
          />
        );
      }}
    </Field>
  );
}

function hintOf(schema: ValueSchema): string | undefined {
  const kind = kindOf(schema);
  const how = kind === 'list' ? t('One on each line.') : kind === 'json' ? t('Text or JSON.') : '';
  return [schema.description ?? '', how].filter(Boolean).join('. ') || undefined;
}
