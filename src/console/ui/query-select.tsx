import { replaceQuery } from '../lib/router.ts';

interface QuerySelectProps {
  readonly label: string;
  /** Parameter of the page's address that holds the choice. */
  readonly parameter: string;
  readonly value: string;
  /** Text of the choice that filters nothing; without it, one of the options is always chosen. */
  readonly all?: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** Choice in the heading of a panel that limits what it shows, kept in the address of the page. */
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
