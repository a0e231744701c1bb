/** Replace code points that PostgreSQL text can't hold by U+FFFD: U+0000 and lone surrogates. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** Serialise JSON that jsonb can store. Apply `storableText` to its strings, including keys. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (isStorable(json)) return json;
  return JSON.stringify(JSON.parse(json, withStorableTexts), withStorableKeys);
}

/** Convert a JSON value so that jsonb can store it. Return the value itself if nothing needs replacing. */
export function storableValue<Value>(value: Value): Value {
  return isStorable(JSON.stringify(value)) ? value : JSON.parse(storableJson(value));
}

/**
 * Return true if nothing needs replacing. JSON.stringify escapes such code points, so this is faster than checking all
 * strings.
 */
function isStorable(json: string): boolean {
  return !/\\u(?:0000|d[89a-f])/.test(json);
}

function withStorableTexts(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? storableText(value) : value;
}

function withStorableKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), item]));
}
