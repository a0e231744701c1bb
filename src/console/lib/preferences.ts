import type { Language } from './i18n.ts';

/** Storage keys of the user's choices in this browser. */
const THEME = 'theme';
const LANGUAGE = 'language';

/** Colours of the pages; `system` follows the browser. */
export type Theme = 'system' | 'light' | 'dark';

export function chosenTheme(): Theme {
  const theme = localStorage.getItem(THEME);
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

/** Apply the chosen theme, even if it is chosen in another tab. Call this once before rendering anything. */
export function openTheme(): void {
  applyTheme(chosenTheme());
  addEventListener('storage', ({ key }) => key === THEME && applyTheme(chosenTheme()));
}

function applyTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === 'system') delete root.dataset['theme'];
  else root.dataset['theme'] = theme;
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(THEME);
  else localStorage.setItem(THEME, theme);
  applyTheme(theme);
}

/** Return the languages in order of preference: the chosen one, then those of the browser. */
export function preferredLanguages(): readonly string[] {
  const chosen = localStorage.getItem(LANGUAGE);
  return chosen === null ? navigator.languages : [chosen, ...navigator.languages];
}

/** Choose the language of the pages, and reload them. */
export function chooseLanguage(language: Language): void {
  localStorage.setItem(LANGUAGE, language);
  location.reload();
}
