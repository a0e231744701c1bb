import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** Presses of Tab after which an element counts as unreachable: more than any page has elements. */
const TABS_MAX = 250;
/** Options of a list at most. */
const OPTIONS_MAX = 100;

/** Description of the focused element: its tag, its name, and how the focus is shown. */
const FOCUS = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { bottom, right, width, height } = element.getBoundingClientRect();
  const dialogs = [...document.querySelectorAll('dialog[open]')];
  return {
    name: element.tagName + ' ' + (element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 60),
    isShown: element.matches(':focus-visible') && outlineStyle !== 'none' && parseFloat(outlineWidth) > 0,
    isInView: width > 0 && height > 0 && bottom > 0 && right > 0,
    isInDialog: dialogs.length === 0 || dialogs.at(-1).contains(element),
  };
})()`;

interface Focus {
  readonly name: string;
  readonly isShown: boolean;
  readonly isInView: boolean;
  readonly isInDialog: boolean;
}

/**
 * Person who uses a page by its keyboard alone. Each element that gets the focus on the way must show it, and a dialog must
 * keep it.
 */
export class Keyboard {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Press Tab until an element has the focus. */
  async to(target: Locator): Promise<void> {
    await target.waitFor();
    for (let presses = 0; presses < TABS_MAX; presses += 1) {
      if (await this.isAt(target)) return;
      await this.tab();
    }
    throw new Error(`Tab did not reach ${target}`);
  }

  /** Return true if an element has the focus. */
  async isAt(target: Locator): Promise<boolean> {
    return (await target.and(this.#page.locator(':focus')).count()) === 1;
  }

  /** Press Tab once. */
  async tab(keys = 'Tab'): Promise<Focus | null> {
    await this.#page.keyboard.press(keys);
    const focus = (await this.#page.evaluate(FOCUS)) as Focus | null;
    if (focus !== null) {
      const { name } = focus;
      expect(focus).toEqual({ name, isShown: true, isInView: true, isInDialog: true });
    }
    return focus;
  }

  /** Follow a link or press a button. */
  async press(target: Locator, key: 'Enter' | 'Space' = 'Enter'): Promise<void> {
    await this.to(target);
    await this.#page.keyboard.press(key);
  }

  /** Replace the text of a field. */
  async type(target: Locator, text: string): Promise<void> {
    await this.to(target);
    await this.#page.keyboard.press('Control+A');
    await this.#page.keyboard.insertText(text);
    expect(await target.inputValue()).toBe(text);
  }

  /** Choose an option of a list by its value. */
  async choose(target: Locator, value: string): Promise<void> {
    await this.to(target);
    await this.#page.keyboard.press('Home');
    for (let presses = 0; (await target.inputValue()) !== value; presses += 1) {
      if (presses === OPTIONS_MAX) throw new Error(`the arrow keys did not reach ${value}`);
      await this.#page.keyboard.press('ArrowDown');
    }
  }

  /**
   * Expect that a dialog has the focus, keeps it however often Tab is pressed in both directions, and gives it back to the
   * element that opened it once it is closed by Escape.
   */
  async expectDialog(opener: Locator, dialog: Locator): Promise<void> {
    await this.press(opener);
    await dialog.waitFor();
    expect(await dialog.locator(':focus').count()).toBe(1);
    for (const keys of ['Tab', 'Shift+Tab']) {
      const names = new Set<string>();
      // Beyond its last element the browser itself has the focus, and then the first one has it again.
      for (let presses = 0; presses < TABS_MAX; presses += 1) {
        const name = (await this.tab(keys))?.name;
        if (name !== undefined && names.has(name)) break;
        if (name !== undefined) names.add(name);
      }
      expect(names.size).toBeGreaterThan(0);
    }
    await this.#page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await this.isAt(opener)).toBe(true);
  }
}
