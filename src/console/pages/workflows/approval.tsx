import type { ComponentChildren } from 'preact';
import { t, translateName } from '../../lib/i18n.ts';
import type { BlockResult } from '../../types.ts';
import { Check } from '../../ui/controls.tsx';
import { WouldDo } from './would-do.tsx';

/** Approvals of changes, by block id. */
export type Approvals = Readonly<Record<string, boolean>>;

interface ApprovalFieldsProps {
  readonly blocks: readonly BlockResult[];
  readonly approvals: Approvals;
  readonly onApprovals: (approvals: Approvals) => void;
  /** Button that runs the approved changes. */
  readonly children: ComponentChildren;
}

/** Side effects that wait for approval, each with its planned change. */
export function ApprovalFields({ blocks, approvals, onApprovals, children }: ApprovalFieldsProps) {
  return (
    <fieldset class="approvals">
      <legend>{t('Approve what may be done')}</legend>
      {blocks.map((block) => (
        <div key={block.id} class="stack tight">
          <Check
            label={`${block.id} · ${translateName(block.type)}`}
            isOn={approvals[block.id] === true}
            onToggle={(isOn) => onApprovals({ ...approvals, [block.id]: isOn })}
          />
          <WouldDo block={block} />
        </div>
      ))}
      <div class="form-actions">{children}</div>
    </fieldset>
  );
}
