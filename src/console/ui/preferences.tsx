import { useState } from 'preact/hooks';
import { currentLanguage, type Language, t } from '../lib/i18n.ts';
import { chooseLanguage, chooseTheme, chosenTheme, type Theme } from '../lib/preferences.ts';

/** Theme and language of the pages in this browser. */
export function Preferences() {
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const change = (next: Theme) => {
    chooseTheme(next);
    setTheme(next);
  };
  return (
    <div class="preferences">
      <select
        class="input"
        aria-label={t('Theme')}
        value={theme}
        onChange={(event) => change(event.currentTarget.value as Theme)}
      >
        <option value="system">{t('Automatic')}</option>
        <option value="light">{t('Light')}</option>
        <option value="dark">{t('Dark')}</option>
      </select>
      <select
        class="input"
        aria-label={t('Language')}
        value={currentLanguage()}
        onChange={(event) => chooseLanguage(event.currentTarget.value as Language)}
      >
        <option value="en" lang="en">
          English
        </option>
        <option value="ko" lang="ko">
          한국어
        </option>
      </select>
    </div>
  );
}
