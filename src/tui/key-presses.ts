import { type Key, useInput } from 'ink';

const NAMED = [
  ...(['upArrow', 'downArrow', 'leftArrow', 'rightArrow', 'pageUp', 'pageDown'] as const),
  ...(['home', 'end', 'return', 'escape', 'backspace', 'tab'] as const),
] satisfies (keyof Key)[];

/** Names of control characters, for keys that arrive together with others as one text. */
const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'return',
  '\n': 'return',
  '\t': 'tab',
  '\u0003': 'ctrl-c',
  '\u001b': 'escape',
  '\u007f': 'backspace',
};

/**
 * Call `onKey` for each key press, with the letter itself, `ctrl-c`, or ink's name of the key (`upArrow`, `return`).
 * Letters that arrive together, from a fast typist or over a slow line, are passed one after the other. Other keys with
 * Ctrl or Alt are ignored.
 */
export function useKeyPresses(onKey: (key: string) => void, isActive: boolean): void {
  useInput((input, key) => keyPressesOf(input, key).forEach(onKey), { isActive });
}

function keyPressesOf(input: string, key: Key): string[] {
  if (key.ctrl) return input === 'c' ? ['ctrl-c'] : [];
  // Ink reports Escape as a key with Alt too, so names are checked first.
  const name = NAMED.find((name) => key[name] === true);
  if (name !== undefined) return [name];
  return key.meta ? [] : [...input].map((letter) => CONTROLS[letter] ?? letter);
}
