import { type Key, useInput } from 'ink';

const NAMED = [
  ...(['upArrow', 'downArrow', 'leftArrow', 'rightArrow', 'pageUp', 'pageDown'] as const),
  ...(['home', 'end', 'return', 'escape', 'backspace', 'tab'] as const),
] satisfies (keyof Key)[];

/** What keys send that came with others, as one piece of text. */
const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'return',
  '\n': 'return',
  '\t': 'tab',
  '\u0003': 'ctrl-c',
  '\u001b': 'escape',
  '\u007f': 'backspace',
};

/**
 * Call `onPress` for each key: with the letter itself, `ctrl-c`, or a name as ink has it (`upArrow`, `return`). Letters
 * that come at once, from a fast typist or over a slow line, are told one after the other. Other keys with Ctrl or Alt
 * are not told.
 */
export function useKeyPresses(onPress: (press: string) => void, isActive: boolean): void {
  useInput((input, key) => pressesOf(input, key).forEach(onPress), { isActive });
}

function pressesOf(input: string, key: Key): string[] {
  if (key.ctrl) return input === 'c' ? ['ctrl-c'] : [];
  // Ink has Escape as a key with Alt too, so names come first.
  const name = NAMED.find((name) => key[name] === true);
  if (name !== undefined) return [name];
  return key.meta ? [] : [...input].map((letter) => CONTROLS[letter] ?? letter);
}
