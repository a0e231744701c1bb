import { replaceQuery } from '../lib/router.ts';

interface QuerySelectProps {
  readonly label: string;
  /** URL parameter that holds the choice. */
  readonly parameter: string;
  readonly value: string;
  /** Label of the choice that filters nothing. Without it, one of the options is always chosen. */
  readonly all?: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** Choice in a panel's heading that limits what the panel shows. It is kept in the URL. */
export function QuerySelect({ label, parameter, value, all, options }: QuerySelectProps) {
  return (
    <select
      class="input"
      aria-label={label}
      value={value}
      onChange={(event) => replaceQuery({ [parameter]: event.currentTarget.value })}
    >
      {all !== undefined && <option value="">{all}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}
