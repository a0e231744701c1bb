import { toCsv } from '../../lib/csv.ts';
import { t } from '../../lib/i18n.ts';
import { saveFile } from '../../lib/save-file.ts';
import { Button } from '../../ui/controls.tsx';

interface ExportButtonProps {
  /** File name without extension. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** Button that saves a table as a CSV file. */
export function ExportButton({ name, columns, rows }: ExportButtonProps) {
  if (rows.length === 0) return null;
  return (
    <Button small look="quiet" icon="download" onClick={() => saveFile(`${name}.csv`, toCsv(columns, rows))}>
      {t('Export as CSV')}
    </Button>
  );
}
