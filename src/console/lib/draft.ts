import { useEffect, useState } from 'preact/hooks';

/** State of a text that survives a reload of the page, until the browser's tab is closed. */
export function useDraft(name: string, initial: string): [string, (value: string) => void] {
  const key = `draft:${name}`;
  const [value, setValue] = useState(() => sessionStorage.getItem(key) ?? initial);
  useEffect(() => {
    if (value === initial) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  }, [key, value, initial]);
  return [value, setValue];
}
