import { useState } from 'preact/hooks';
import { pathOf } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { readList, useBuckets } from '../../lib/lists.ts';
import { useOnceLoaded, useResource } from '../../lib/resource.ts';
import type { CollectionView } from '../../types.ts';
import { Button, Check, Form, IconButton, SelectField, TextField } from '../../ui/controls.tsx';
import {
  type FilterRow,
  MODE_NAMES,
  MODES,
  type Mode,
  OPERATORS,
  type Operator,
  type SearchForm,
  TOP_K,
} from './search-form.ts';

const OPERATOR_SIGNS: Readonly<Record<Operator, string>> = {
  eq: '=',
  ne: '≠',
  gt: '>',
  gte: '≥',
  lt: '<',
  lte: '≤',
  in: 'in',
  nin: 'not in',
};

const RESULT_COUNTS = ['5', '10', '20', '50', '100'];

/** Form with the query, its conditions and its options. */
export function Filters({
  form,
  isBusy,
  onSearch,
}: {
  form: SearchForm;
  isBusy: boolean;
  onSearch: (form: SearchForm) => void;
}) {
  const [edited, setEdited] = useState(form);
  const change = (part: Partial<SearchForm>) => setEdited({ ...edited, ...part });
  const buckets = useBuckets();
  const first = buckets.data?.[0]?.name ?? '';
  const bucket = edited.bucket || first;
  const submit = useOnceLoaded(buckets, () => {
    if (bucket !== '' && edited.query.trim() !== '') onSearch({ ...edited, bucket });
  });
  return (
    <div class="panel padded">
      <Form onSubmit={submit}>
        <div class="query-row">
          <SelectField
            label={t('Bucket')}
            value={bucket}
            options={(buckets.data ?? []).map(({ name }) => ({ value: name, label: name }))}
            onValue={(value) => change({ bucket: value, collection: '' })}
          />
          <TextField
            label={t('Query')}
            type="search"
            maxLength={8000}
            value={edited.query}
            onValue={(query) => change({ query })}
          />
          <Button type="submit" look="primary" icon="search" isBusy={isBusy}>
            {t('Search')}
          </Button>
        </div>
        <details>
          <summary>{[t('More options'), ...namesOfSet(form)].join(' · ')}</summary>
          <div class="stack search-options">
            <Modes chosen={edited.modes} onModes={(modes) => change({ modes })} />
            <Conditions rows={edited.filters} onRows={(filters) => change({ filters })} />
            <Options bucket={bucket} edited={edited} change={change} />
          </div>
        </details>
      </Form>
    </div>
  );
}

/** List the options that differ from their defaults, since the options are collapsed. */
function namesOfSet({ modes, filters, rerank, correct, topK, collection }: SearchForm): string[] {
  return [
    modes.length === 1 && modes[0] === 'hybrid' ? '' : modes.map((mode) => t(MODE_NAMES[mode])).join(', '),
    filters.length === 0 ? '' : t('{count|condition|conditions}', { count: filters.length }),
    collection === '' ? '' : t('Collection'),
    topK === TOP_K ? '' : t('{count|result|results}', { count: topK }),
    rerank ? t('Rerank the results') : '',
    correct ? '' : t('As it is spelled'),
  ].filter(Boolean);
}

function Modes({ chosen, onModes }: { chosen: readonly Mode[]; onModes: (modes: readonly Mode[]) => void }) {
  return (
    <fieldset>
      <legend>{t('Modes, side by side')}</legend>
      <div class="row">
        {MODES.map((mode) => (
          <Check
            key={mode}
            label={t(MODE_NAMES[mode])}
            isOn={chosen.includes(mode)}
            onToggle={(isOn) => onModes(MODES.filter((each) => (each === mode ? isOn : chosen.includes(each))))}
          />
        ))}
      </div>
    </fieldset>
  );
}

function Options({
  bucket,
  edited,
  change,
}: {
  bucket: string;
  edited: SearchForm;
  change: (part: Partial<SearchForm>) => void;
}) {
  const collections = useResource(bucket === '' ? null : `collections ${bucket}`, (signal) =>
    readList<CollectionView>(pathOf('v1', 'buckets', bucket, 'collections'), signal),
  );
  const names = (collections.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
  return (
    <div class="form-grid options">
      <SelectField
        label={t('Results')}
        value={String(edited.topK)}
        options={RESULT_COUNTS.map((value) => ({ value, label: value }))}
        onValue={(value) => change({ topK: Number(value) })}
      />
      <SelectField
        label={t('Collection')}
        value={edited.collection}
        options={[{ value: '', label: t('All') }, ...names]}
        onValue={(collection) => change({ collection })}
      />
      <TextField
        label={t('Results of one document at most')}
        type="number"
        min={1}
        max={100}
        value={edited.maxPerDocument === null ? '' : String(edited.maxPerDocument)}
        onValue={(value) => change({ maxPerDocument: Number(value) || null })}
      />
      <Check label={t('Rerank the results')} isOn={edited.rerank} onToggle={(rerank) => change({ rerank })} />
      <Check label={t('Correct the spelling')} isOn={edited.correct} onToggle={(correct) => change({ correct })} />
    </div>
  );
}

function Conditions({ rows, onRows }: { rows: readonly FilterRow[]; onRows: (rows: readonly FilterRow[]) => void }) {
  const update = (at: number, change: Partial<FilterRow>) =>
    onRows(rows.map((row, index) => (index === at ? { ...row, ...change } : row)));
  return (
    <fieldset>
      <legend>{t('Conditions on metadata')}</legend>
      {rows.map(({ key, operator, value }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no identity but its place
        <div class="filter-row" key={at}>
          <input
            class="input"
            aria-label={t('Key')}
            placeholder={t('Key')}
            value={key}
            onInput={(event) => update(at, { key: event.currentTarget.value })}
          />
          <select
            class="input"
            aria-label={t('Comparison')}
            value={operator}
            onChange={(event) => update(at, { operator: event.currentTarget.value as Operator })}
          >
            {OPERATORS.map((each) => (
              <option key={each} value={each}>
                {OPERATOR_SIGNS[each]}
              </option>
            ))}
          </select>
          <input
            class="input"
            aria-label={t('Value')}
            placeholder={t('Value')}
            value={value}
            onInput={(event) => update(at, { value: event.currentTarget.value })}
          />
          <IconButton
            icon="trash"
            label={t('Remove {name}', { name: key })}
            onClick={() => onRows(rows.filter((_, index) => index !== at))}
          />
        </div>
      ))}
      <div>
        <Button
          small
          look="quiet"
          icon="plus"
          onClick={() => onRows([...rows, { key: '', operator: 'eq', value: '' }])}
        >
          {t('Add a condition')}
        </Button>
      </div>
    </fieldset>
  );
}
