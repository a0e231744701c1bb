import { t } from '../lib/i18n.ts';
import { Button, IconButton } from './controls.tsx';

/** Key and value in two form fields. */
export interface Pair {
  readonly id: number;
  readonly key: string;
  readonly value: string;
}

let nextPair = 1;
export function pairOf(key = '', value = ''): Pair {
  nextPair += 1;
  return { id: nextPair, key, value };
}

/** Rows of keys and values that the user can add and remove. */
export function PairRows({ pairs, onPairs }: { pairs: readonly Pair[]; onPairs: (pairs: readonly Pair[]) => void }) {
  const update = (id: number, change: Partial<Pair>) =>
    onPairs(pairs.map((pair) => (pair.id === id ? { ...pair, ...change } : pair)));
  return (
    <>
      {pairs.map(({ id, key, value }) => (
        <div class="pair-row" key={id}>
          <input
            class="input"
            aria-label={t('Key')}
            placeholder={t('Key')}
            value={key}
            onInput={(event) => update(id, { key: event.currentTarget.value })}
          />
          <input
            class="input"
            aria-label={t('Value')}
            placeholder={t('Value')}
            value={value}
            onInput={(event) => update(id, { value: event.currentTarget.value })}
          />
          <IconButton
            icon="trash"
            label={t('Remove {name}', { name: key })}
            onClick={() => onPairs(pairs.filter((pair) => pair.id !== id))}
          />
        </div>
      ))}
      <div>
        <Button small look="quiet" icon="plus" onClick={() => onPairs([...pairs, pairOf()])}>
          {t('Add a key')}
        </Button>
      </div>
    </>
  );
}
