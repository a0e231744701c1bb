import type { SeededRandom } from '../support/random.ts';

export interface DrawnDefinition {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly blocks: readonly Readonly<Record<string, unknown>>[];
  readonly output: string;
}

const INPUTS = { topic: { type: 'string' }, flag: { type: 'boolean' }, note: { type: 'string', required: false } };

/** Targets of the side effects of a drawn definition. */
export interface Targets {
  readonly bucket: string;
  readonly channel: string;
  readonly document: string;
}

export const NOWHERE: Targets = { bucket: 'default', channel: 'chn_1', document: 'doc_1' };

/**
 * Draw a valid definition of up to 12 blocks in any order, with references, conditions and `after` between them. Each
 * side effect is marked by `<definition>-<block>`, and goes to the targets.
 */
export function drawDefinition(random: SeededRandom, name: string, targets: Targets = NOWHERE): DrawnDefinition {
  const count = 1 + random.int(12);
  const ids = Array.from({ length: count }, (_, at) => `b${at}`);
  const blocks = ids.map((id, at) => drawBlock(random, `${name}-${id}`, id, ids.slice(0, at), targets));
  // Blocks refer to earlier ones only, and are then mixed: any order of a graph without cycles.
  for (let at = blocks.length - 1; at > 0; at--) {
    const other = random.int(at + 1);
    [blocks[at], blocks[other]] = [blocks[other] as (typeof blocks)[number], blocks[at] as (typeof blocks)[number]];
  }
  return { inputs: INPUTS, blocks, output: `{{blocks.${random.pick(ids)}.output}}` };
}

function drawBlock(random: SeededRandom, mark: string, id: string, earlier: readonly string[], targets: Targets) {
  const part: Record<string, unknown> = {};
  if (random.int(4) === 0 && earlier.length > 0) part['after'] = [random.pick(earlier)];
  if (random.int(4) === 0) part['if'] = drawCondition(random, earlier);
  return { id, ...part, ...drawWork(random, mark, earlier, targets) };
}

function drawCondition(random: SeededRandom, earlier: readonly string[]): string {
  if (earlier.length === 0 || random.int(2) === 0) return random.pick(['{{inputs.flag}}', '{{inputs.note}}']);
  return random.pick([`{{blocks.${random.pick(earlier)}.output}}`, random.pick(earlier)]);
}

/** Draw a text with references of any block or input. */
function drawText(random: SeededRandom, earlier: readonly string[]): string {
  if (earlier.length === 0 || random.int(3) === 0)
    return random.pick(['words', 'of {{inputs.topic}}', '{{inputs.note}}']);
  const reference = `{{blocks.${random.pick(earlier)}.output}}`;
  return random.pick([reference, `with ${reference}`, `${reference} and ${reference}`]);
}

function drawWork(random: SeededRandom, mark: string, earlier: readonly string[], targets: Targets) {
  const text = drawText(random, earlier);
  const { bucket, channel, document } = targets;
  switch (random.int(7)) {
    case 0:
      return { type: 'search', with: { bucket, query: `about ${text}`, mode: 'keyword' } };
    case 1:
      return { type: 'condition', with: { left: text, op: random.pick(['exists', 'eq', 'contains']), right: 'words' } };
    case 2:
      return { type: 'template', with: { text } };
    case 3:
      return { type: 'upload_document', with: { bucket, filename: `${mark}.txt`, text: `${mark} ${text}` } };
    case 4:
      return {
        type: 'update_metadata',
        with: { bucket, document_id: document, metadata: { [mark]: 'x' }, reindex: random.int(2) === 0 },
      };
    default:
      return {
        type: 'send_notification',
        with: {
          ...{ channel_config_id: channel, phone: '01012345678', template_code: mark },
          template_args: { text: `x ${text}`.slice(0, 200) },
        },
      };
  }
}

/** Ids of the blocks with a side effect. */
export function sideEffectsOf({ blocks }: DrawnDefinition): string[] {
  const types = ['upload_document', 'update_metadata', 'send_notification'];
  return blocks.filter(({ type }) => types.includes(type as string)).map(({ id }) => id as string);
}

/** Draw approvals: of some blocks, some of them false. */
export function drawApprovals(random: SeededRandom, definition: DrawnDefinition): Record<string, boolean> {
  const ids = definition.blocks.map(({ id }) => id as string).filter(() => random.int(2) === 0);
  return Object.fromEntries(ids.map((id) => [id, random.int(4) !== 0]));
}
