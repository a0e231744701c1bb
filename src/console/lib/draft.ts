import { useCallback, useState } from 'preact/hooks';

/** State of a text that survives a reload of the page at any moment, until the browser's tab is closed. */
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
