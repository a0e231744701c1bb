import { formatDuration } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import type { BlockResult } from '../../types.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Status } from '../../ui/status.tsx';

/** Results of the blocks of a run, in order. */
export function BlockList({ blocks }: { blocks: readonly BlockResult[] }) {
  return (
    <ol class="history">
      {blocks.map((block) => (
        <li key={block.id}>
          <div class="row spread">
            <span>
              <strong>{block.id}</strong> <span class="faint">{translateName(block.type)}</span>
            </span>
            <span class="row">
              <span class="faint number">{formatDuration(block.duration_ms)}</span>
              <Status of={block.status} />
            </span>
          </div>
          {block.error && <span class="quiet">{block.error}</span>}
          {block.output !== null && block.output !== undefined && (
            <details>
              <summary>{t('Output')}</summary>
              <CodeBlock code={JSON.stringify(block.output, null, 2)} label={t('Output')} />
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}
