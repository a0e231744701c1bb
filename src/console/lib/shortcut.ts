import { useEffect, useRef } from 'preact/hooks';

/** Run an action when the user presses Ctrl (or Command) and a letter. */
export function useShortcut(letter: string, action: () => void): void {
  const run = useRef(action);
  run.current = action;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== letter) return;
      event.preventDefault();
      if (document.querySelector('dialog[open]') === null) run.current();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [letter]);
}
