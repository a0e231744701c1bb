import { t, translateName } from '../../lib/i18n.ts';
import type { BlockResult } from '../../types.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Facts } from '../../ui/page.tsx';

/** Arguments of a block's planned change: plain strings, and other values as JSON. */
export function WouldDo({ block: { id, would } }: { block: BlockResult }) {
  if (!would) return null;
  const label = t('What {name} would do', { name: id });
  return (
    <section class="would" aria-label={label}>
      <Facts
        of={Object.entries(would).map(([name, value]) => [translateName(name), <Value key={name} of={value} />])}
      />
      <details>
        <summary>{t('As JSON')}</summary>
        <CodeBlock code={JSON.stringify(would, null, 2)} label={t('As JSON')} />
      </details>
    </section>
  );
}

function Value({ of }: { of: unknown }) {
  if (typeof of === 'string') return <span class="would-text">{of}</span>;
  if (typeof of !== 'object' || of === null) return <>{String(of)}</>;
  const entries = Object.entries(of);
  if (entries.every(([, value]) => typeof value === 'string')) {
    return (
      <span class="would-text">{entries.map(([name, value]) => `${translateName(name)}: ${value}`).join('\n')}</span>
    );
  }
  return <code>{JSON.stringify(of)}</code>;
}
