import { useState } from 'preact/hooks';
import { t } from '../lib/i18n.ts';
import { Button } from './controls.tsx';

const COPIED_MS = 2000;

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), COPIED_MS);
  };
  return (
    <Button small icon={isCopied ? 'check' : 'copy'} onClick={copy}>
      {isCopied ? t('Copied') : (label ?? t('Copy'))}
    </Button>
  );
}

export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>{code}</code>
        </pre>
      </section>
      <CopyButton text={code} />
    </div>
  );
}
