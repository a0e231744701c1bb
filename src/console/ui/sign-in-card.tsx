import type { ComponentChildren } from 'preact';
import { t } from '../lib/i18n.ts';
import { BrandMark } from './icons.tsx';

/** Card in the middle of a page for people without a session. */
export function SignInCard({ children }: { children: ComponentChildren }) {
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <span class="brand">
          <BrandMark />
          {t('Console')}
        </span>
        {children}
      </div>
    </main>
  );
}
