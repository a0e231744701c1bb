import { t } from '../../lib/i18n.ts';
import { Icon } from '../icons.tsx';

/** Button that opens the palette, with its shortcut. */
export function PaletteButton({ onOpen }: { onOpen: () => void }) {
  return (
    <button type="button" class="palette-button" aria-keyshortcuts="Control+K" onClick={onOpen}>
      <Icon name="search" size={15} />
      <span class="grow">{t('Go to')}</span>
      <span class="shortcut" aria-hidden="true">
        Ctrl K
      </span>
    </button>
  );
}
