import type { ComponentChildren } from 'preact';
import { Brand } from './brand.tsx';

/** Card in the middle of a page for people without a session. */
export function SignInCard({ children }: { children: ComponentChildren }) {
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <span class="brand">
          <Brand />
        </span>
        {children}
      </div>
    </main>
  );
}
