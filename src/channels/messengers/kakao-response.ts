import { z } from 'zod';
import { cutText } from '../excerpt.ts';
import { OUTPUT_CHARS_MAX } from '../schema.ts';
import type { LinkedPassage, LinkedReply } from './messenger.ts';

/** Limits of the components (answer_json_format). Title and description of a text card share one limit. */
const CARD = { titleCharsMax: 50, charsMax: 400 };
const LIST = { itemsMax: 5, titleCharsMax: 50, descriptionCharsMax: 60 };
const LABELS = { open: '원문 보기', more: '다른 결과', sources: '출처' };

type Placed = LinkedPassage & { readonly url: string };

/**
 * Build a SkillResponse 2.0. If the pages of all passages have URLs, show the best passage as a text card with a
 * button, and the others as a list card with links. Below an answer, show its sources as the list card. Otherwise use
 * simple texts.
 */
export function toSkillResponse(reply: LinkedReply, quickReplies: readonly string[]): object {
  const offered = quickReplies.map((text) => ({ label: text, action: 'message', messageText: text }));
  const outputs = outputsOf(reply);
  return { version: '2.0', template: { outputs, ...(offered.length === 0 ? {} : { quickReplies: offered }) } };
}

function outputsOf({ passages, answer, template }: LinkedReply): readonly object[] {
  const placed = passages.flatMap((passage) => (passage.url === null ? [] : [{ ...passage, url: passage.url }]));
  const [best, ...others] = placed.length === passages.length ? placed : [];
  if (best === undefined) return template.outputs;
  if (answer !== undefined) {
    const text = cutText(answer, OUTPUT_CHARS_MAX);
    return [{ simpleText: { text } }, listCard(LABELS.sources, placed.slice(0, LIST.itemsMax))];
  }
  const more = others.map((passage, index) => ({ ...passage, number: index + 2 }));
  return [textCard(best), ...(more.length === 0 ? [] : [listCard(LABELS.more, more.slice(0, LIST.itemsMax))])];
}

function textCard({ text, score, source, url }: Placed): object {
  const title = cutText(source, CARD.titleCharsMax);
  const description = cutText(`1. [${score.toFixed(2)}] ${text}`, CARD.charsMax - title.length);
  return {
    textCard: { title, description, buttons: [{ action: 'webLink', label: LABELS.open, webLinkUrl: url }] },
  };
}

function listCard(title: string, passages: readonly Placed[]): object {
  const items = passages.map(({ number, text, source, url }) => ({
    title: cutText(`${number}. ${source}`, LIST.titleCharsMax),
    description: cutText(text, LIST.descriptionCharsMax),
    link: { web: url },
  }));
  return { listCard: { header: { title }, items } };
}

const Titled = z.object({ title: z.string(), description: z.string() });
const Output = z.union([
  z.object({ simpleText: z.object({ text: z.string() }) }).transform(({ simpleText }) => simpleText.text),
  z.object({ textCard: Titled }).transform(({ textCard }) => `${textCard.description}\n(${textCard.title})`),
  z
    .object({ listCard: z.object({ items: z.array(Titled) }) })
    .transform(({ listCard }) =>
      listCard.items.map(({ title, description }) => `${title}\n${description}`).join('\n\n'),
    ),
]);
const SkillResponse = z.object({
  version: z.literal('2.0'),
  template: z.object({ outputs: z.array(Output).min(1).max(3) }),
});

/** Extract the texts of a response. */
export function readSkillText(response: unknown): string {
  return SkillResponse.parse(response).template.outputs.join('\n\n');
}
