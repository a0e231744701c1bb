/** JSON Schema of one value, as far as a form needs it. */
export interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly default?: unknown;
  readonly items?: ValueSchema;
  readonly maxLength?: number;
  readonly anyOf?: readonly ValueSchema[];
}

/** JSON Schema of an object whose fields a form shows. */
export interface ObjectSchema extends ValueSchema {
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly required?: readonly string[];
}

/** Kind of control for a value. */
export type ControlKind = 'choice' | 'text' | 'long-text' | 'number' | 'flag' | 'list' | 'json';

/** Maximum length above which a text gets a multi-line field. */
const LONG_TEXT_CHARS = 2000;

export function kindOf(schema: ValueSchema): ControlKind {
  if (schema.enum !== undefined) return 'choice';
  const type = typeof schema.type === 'string' ? schema.type : undefined;
  if (type === 'boolean') return 'flag';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array' && schema.items?.type === 'string') return 'list';
  if (type === 'string') return (schema.maxLength ?? 0) >= LONG_TEXT_CHARS ? 'long-text' : 'text';
  return 'json';
}

/** Texts of a form, by the names of the fields. */
export type FormTexts = Readonly<Record<string, string>>;

/**
 * Convert the texts of a form to values. Omit empty fields, so that the service uses its defaults.
 * @throws SyntaxError for a JSON field that isn't JSON
 */
export function valuesOf(schema: ObjectSchema, texts: FormTexts): Record<string, unknown> {
  const values = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const text = texts[name] ?? '';
    return text.trim() === '' ? [] : [[name, toValue(field, text)] as const];
  });
  return Object.fromEntries(values);
}

function toValue(schema: ValueSchema, text: string): unknown {
  switch (kindOf(schema)) {
    case 'flag':
      return text === 'true';
    case 'number':
      return Number.isNaN(Number(text)) ? text : Number(text);
    case 'list':
      return text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean);
    case 'json':
      return /^\s*[[{"\d-]|^\s*(?:true|false|null)\s*$/.test(text) ? JSON.parse(text) : text;
    default:
      return text;
  }
}
