/** Maximum length of an Alimtalk in characters (error code 1031 of Solapi, -2019 of NHN Cloud). */
export const ALIMTALK_CHARS_MAX = 1000;
/** Maximum lengths of a text message and its title, in EUC-KR bytes (error codes 1031 and 1014 of Solapi). */
export const SMS_BYTES_MAX = 90;
export const LMS_BYTES_MAX = 2000;
export const LMS_TITLE_BYTES_MAX = 40;

const VARIABLE = /#\{([^{}]{1,100})\}/g;

/** Return the names of the variables `#{name}` in all strings of a value, in order and without repeats. */
export function variablesIn(value: unknown): string[] {
  const names = stringsIn(value).flatMap((text) => Array.from(text.matchAll(VARIABLE), ([, name]) => name ?? ''));
  return [...new Set(names)];
}

/** Replace the variables in all strings of a value. Don't replace variables within the inserted values. */
export function fillIn<Value>(value: Value, args: Readonly<Record<string, string>>): Value {
  return mapStrings(value, (text) =>
    text.replace(VARIABLE, (whole, name: string) => (Object.hasOwn(args, name) ? (args[name] ?? whole) : whole)),
  ) as Value;
}

/** Count the EUC-KR bytes of a text: two for every non-ASCII character. */
export function eucKrBytes(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += character <= '\u007f' ? 1 : 2;
  return bytes;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)]));
}
