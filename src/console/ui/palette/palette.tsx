import { useEffect, useId, useState } from 'preact/hooks';
import { t } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { useResource } from '../../lib/resource.ts';
import { navigate } from '../../lib/router.ts';
import { Dialog } from '../dialog.tsx';
import { Icon } from '../icons.tsx';
import { bucketTargets, pageTargets, readTargets } from './targets.ts';

/** Delay after the last key press before asking the service. */
const TYPING_MS = 200;

/** Dialog for finding pages, buckets, documents and jobs by a part of their name. */
export function Palette({ onClose }: { onClose: () => void }) {
  const listId = useId();
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  const [at, setAt] = useState(0);
  const text = typed.trim();
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const buckets = useBuckets();
  const found = useResource(asked === '' ? null : `palette ${asked}`, (signal) => readTargets(asked, signal));
  const targets = [
    ...pageTargets(text),
    ...(text === '' ? [] : bucketTargets(buckets.data ?? [], text)),
    ...(asked === text ? (found.data ?? []) : []),
  ];
  const chosen = Math.min(at, Math.max(targets.length - 1, 0));
  const open = (index: number) => {
    const target = targets[index];
    if (target === undefined) return;
    onClose();
    navigate(target.href);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && targets.length > 0) {
      event.preventDefault();
      setAt((chosen + step + targets.length) % targets.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(chosen);
    }
  };
  return (
    <Dialog title={t('Go to')} onClose={onClose} keepsNothing>
      <input
        class="input"
        role="combobox"
        aria-label={t('Page, bucket, document or job')}
        placeholder={t('Page, bucket, document or job')}
        aria-expanded={targets.length > 0}
        aria-controls={listId}
        aria-activedescendant={targets.length > 0 ? `${listId}-${chosen}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id={listId} role="listbox" aria-label={t('Places')} class="palette-list">
        {targets.map(({ href, label, kind, icon }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
          <div
            key={href}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => open(index)}
          >
            <Icon name={icon} />
            <span class="grow">{label}</span>
            <span class="faint">{kind}</span>
          </div>
        ))}
      </div>
      {targets.length === 0 && (
        <p class="quiet">{found.isLoading || asked !== text ? t('Loading…') : t('Nothing was found')}</p>
      )}
    </Dialog>
  );
}
