/**
 * Template language of the calibration corpus.
 *
 *     {thing}        a word of that list, or an expansion of that rule
 * {thing.pl} an inflected form; several forms can follow each other {thing#1} a word stored within the template,
 * repeated by {#1} or {#1.pl}
 *     <once|twice|>  one of these, which may be empty; not nested, rules are for that
 *     ||             between two texts that belong together
 *     q>             before a text that is a query, in a task that has both kinds
 *     ↵              a line break
 *
 * `{en-thing}` and `{ko-thing}` name lists of the other language. `{은}`, `{이}`, `{을}` and the like are particles, which
 * take the form that the sound before them asks for.
 *
 * Braces and angle brackets of any other form are text, so that templates can contain code.
 */

/**
 * Function that samples without replacement until all items are used, then starts again, so that few samples cover many
 * items.
 */
export type Sampler<T> = () => T;

export function createSampler<T>(items: readonly T[], random: () => number): Sampler<T> {
  if (items.length === 0) throw new RangeError('a sampler needs at least one item');
  const order = [...items];
  let next = order.length;
  return () => {
    if (next === order.length) {
      shuffle(order, random);
      next = 0;
    }
    return order[next++] as T;
  };
}

function shuffle<T>(items: T[], random: () => number): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const moved = items[i] as T;
    items[i] = items[j] as T;
    items[j] = moved;
  }
}

interface Slot {
  readonly name: string;
  readonly register: number;
  readonly forms: readonly string[];
}

type Part = string | Slot | { readonly choices: readonly Template[] };

export type Template = readonly Part[];

const SLOT = /\{([\p{L}-]*)(?:#(\d))?((?:\.[\p{L}\d]+)*)\}/uy;
const CHOICE = /<([^<>]*\|[^<>]*)>/y;
const NO_REGISTER = -1;

/** Parse a template. Each template is parsed once, since hundreds of templates are expanded thousands of times. */
export function parseTemplate(source: string): Template {
  const parts: Part[] = [];
  let text = '';
  const push = (part: Part) => {
    if (text !== '') parts.push(text);
    text = '';
    parts.push(part);
  };
  for (let at = 0; at < source.length; ) {
    SLOT.lastIndex = at;
    CHOICE.lastIndex = at;
    const slot = SLOT.exec(source);
    const choice = slot ? null : CHOICE.exec(source);
    if (slot && (slot[1] !== '' || slot[2] !== undefined)) {
      const forms = (slot[3] ?? '').split('.').slice(1);
      push({ name: slot[1] ?? '', register: slot[2] === undefined ? NO_REGISTER : Number(slot[2]), forms });
      at += slot[0].length;
    } else if (choice) {
      push({ choices: (choice[1] as string).split('|').map(parseTemplate) });
      at += choice[0].length;
    } else {
      text += source.charAt(at++);
    }
  }
  if (text !== '') parts.push(text);
  return parts;
}

/** Parse the lines of a template list. */
export function parseTemplates(lines: readonly string[]): Template[] {
  return lines.map((line) => parseTemplate(line.replaceAll('↵', '\n')));
}

/** Source of the words that fill slots. */
export interface Vocabulary {
  /**
   * Draw a word, or a template to expand; `before` is the text before the slot.
   *
   * @throws RangeError for an unknown name
   */
  draw(name: string, before: string): string | Template;
  /** @param name of the slot that the word was drawn for */
  inflect(name: string, word: string, form: string): string;
  readonly random: () => number;
}

/** Expand a template. @throws RangeError if a template names an unknown list or form, which is a fault of the data */
export function expand(template: Template, vocabulary: Vocabulary): string {
  return expandParts(template, vocabulary, new Map(), '');
}

type Registers = Map<number, { readonly name: string; readonly word: string }>;

function expandParts(template: Template, vocabulary: Vocabulary, registers: Registers, before: string): string {
  let text = '';
  for (const part of template) {
    if (typeof part === 'string') text += part;
    else if ('choices' in part) {
      const choice = part.choices[Math.floor(vocabulary.random() * part.choices.length)] as Template;
      text += expandParts(choice, vocabulary, registers, before + text);
    } else text += fill(part, vocabulary, registers, before + text);
  }
  return text;
}

function fill({ name, register, forms }: Slot, vocabulary: Vocabulary, registers: Registers, before: string): string {
  let drawn: { readonly name: string; readonly word: string };
  if (name === '') {
    const known = registers.get(register);
    if (!known) throw new RangeError(`no word was stored as #${register}`);
    drawn = known;
  } else {
    const found = vocabulary.draw(name, before);
    drawn = { name, word: typeof found === 'string' ? found : expandParts(found, vocabulary, new Map(), '') };
    if (register !== NO_REGISTER) registers.set(register, drawn);
  }
  return forms.reduce((word, form) => vocabulary.inflect(drawn.name, word, form), drawn.word);
}
