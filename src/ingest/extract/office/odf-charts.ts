import { parseXml } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import type { BlockDraft } from '../blocks.ts';
import { RowTable } from '../row-table.ts';

/** Blocks of a document's charts, by their reference in its content, such as `./Object 1`. */
export type OdfCharts = ReadonlyMap<string, readonly BlockDraft[]>;

const OBJECT = /^(.+)\/content\.xml$/;
const TITLES: ReadonlySet<string> = new Set(['chart:title', 'chart:subtitle']);

/** Read the charts of a document, each from its own table: its titles as a paragraph, then the table. */
export async function readOdfCharts(zip: Zip): Promise<OdfCharts> {
  const charts = new Map<string, BlockDraft[]>();
  for (const name of zip.names()) {
    const object = OBJECT.exec(name)?.[1];
    if (object !== undefined) charts.set(`./${object}`, await readChart(zip, name));
  }
  return charts;
}

async function readChart(zip: Zip, part: string): Promise<BlockDraft[]> {
  const blocks: BlockDraft[] = [];
  const titles: string[] = [];
  let isChart = false;
  let isTitle = false;
  let isText = false;
  let text: string[] = [];
  let row: string[] = [];
  const table = new RowTable((block) => blocks.push(block));
  const takeText = () => {
    const taken = text.join('').replace(/\s+/g, ' ').trim();
    text = [];
    return taken;
  };
  await parseXml(zip.stream(part), {
    open(name) {
      if (name === 'office:chart') isChart = true;
      else if (TITLES.has(name)) isTitle = true;
      else if (name === 'text:p') isText = isChart;
      else if (name === 'table:table-row') row = [];
    },
    close(name) {
      if (name === 'text:p') {
        isText = false;
        text.push(' ');
      } else if (TITLES.has(name)) {
        isTitle = false;
        titles.push(takeText());
      } else if (name === 'table:table-cell' && !isTitle) row.push(takeText());
      else if (name === 'table:table-row') table.addRow(row);
    },
    text(run) {
      if (isText) text.push(run);
    },
  });
  table.end();
  const title = titles.filter((line) => line !== '').join('\n');
  return title === '' ? blocks : [{ kind: 'paragraph', text: title }, ...blocks];
}
