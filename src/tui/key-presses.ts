import { type Key, useInput } from 'ink';

const NAMED = [
  ...(['upArrow', 'downArrow', 'leftArrow', 'rightArrow', 'pageUp', 'pageDown'] as const),
  ...(['home', 'end', 'return', 'escape', 'backspace', 'tab'] as const),
] satisfies (keyof Key)[];

/** Names of control characters, for keys that arrive together with others in one string. */
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
 * Pass letters that arrive together (fast typing, slow connection) one at a time. Ignore other keys with Ctrl or Alt.
 */
export function useKeyPresses(onKey: (key: string) => void, isActive: boolean): void {
  useInput((input, key) => keyPressesOf(input, key).forEach(onKey), { isActive });
}

function keyPressesOf(input: string, key: Key): string[] {
  if (key.ctrl) return input === 'c' ? ['ctrl-c'] : [];
  // Ink also reports Escape as a key with Alt, so check names first.
  const name = NAMED.find((name) => key[name] === true);
  if (name !== undefined) return [name];
  return key.meta ? [] : [...input].map((letter) => CONTROLS[letter] ?? letter);
}
