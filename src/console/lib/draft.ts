import { useCallback, useState } from 'preact/hooks';

/** Keep a text as state that survives page reloads until the tab is closed. */
export function useDraft(name: string, initial: string): [string, (value: string) => void] {
  const key = `draft:${name}`;
  const [value, setValue] = useState(() => sessionStorage.getItem(key) ?? initial);
  const keep = useCallback(
    (next: string) => {
      if (next === initial) sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, next);
      setValue(next);
    },
    [key, initial],
  );
  return [value, keep];
}
