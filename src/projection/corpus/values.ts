import { corpusData } from './corpus-data.ts';
import { kebabCase } from './english-forms.ts';
import type { Sampler } from './grammar.ts';

/** Generators of numbers, dates, names and other words that are in no list. */
export type Values = Readonly<Record<string, () => string>>;

/** Function that returns the next item of a general list by its name. */
type Lists = (name: string) => string;

const YEAR_FIRST = 1820;
const YEAR_LAST = 2034;
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ';

const between = (random: () => number, low: number, high: number) => low + Math.floor(random() * (high - low + 1));

/** Write a number with commas, without `Intl`, since the text must not depend on a locale. */
const grouped = (count: number) => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

function oneOf<T>(random: () => number, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

function sharedValues(random: () => number): Values {
  const number = (low: number, high: number) => between(random, low, high);
  const letter = () => LETTERS.charAt(number(0, LETTERS.length - 1));
  return {
    number: () => String(number(2, 90)),
    digit: () => String(number(2, 5)),
    big: () => grouped(number(2, 99) * 10 ** number(2, 4)),
    year: () => String(number(YEAR_FIRST, YEAR_LAST)),
    age: () => String(number(3, 89)),
    status: () => String(oneOf(random, corpusData().values.statuses)),
    version: () => `${number(0, 12)}.${number(0, 30)}.${number(0, 9)}`,
    code: () => `${letter()}${letter()}-${number(100, 9999)}`,
  };
}

/** Draw a quantity from a range such as `3-14 nights`. */
function quantityOf(random: () => number, amount: string): string {
  const [, low, high, unit] = /^(\d+)-(\d+)(.*)$/.exec(amount) ?? [];
  if (unit === undefined) throw new RangeError(`"${amount}" is no range of amounts`);
  return between(random, Number(low), Number(high)) + unit;
}

export function englishValues(random: () => number, lists: Lists, units: Sampler<string>): Values {
  const { numbers, cityPrefixes, mailboxes } = corpusData().values.en;
  const shared = sharedValues(random);
  const number = (low: number, high: number) => between(random, low, high);
  const inventedName = () => lists('name-head') + lists('name-tail');
  const city = () => oneOf(random, cityPrefixes) + inventedName();
  const company = () => `${inventedName()} ${lists('firm-tail')}`;
  return {
    ...shared,
    num: () => oneOf(random, numbers),
    quantity: () => quantityOf(random, units()),
    percent: () =>
      oneOf(random, [`${number(2, 98)}%`, `${number(2, 98)} percent`, `${number(1, 19)}.${number(1, 9)}%`]),
    money: () => {
      const small = grouped(number(5, 9500));
      return oneOf(random, [
        `$${small}`,
        `€${small}`,
        `£${small}`,
        `${number(2, 95)} million dollars`,
        `${small} euros`,
      ]);
    },
    date: () => {
      const month = lists('month');
      return oneOf(random, [`${number(1, 28)} ${month}`, `${month} ${number(1, 28)}`, isoDate(random)]);
    },
    time: () => oneOf(random, [`${number(1, 12)} ${oneOf(random, ['am', 'pm'])}`, clock(random)]),
    name: inventedName,
    person: () => `${lists('given')} ${inventedName()}`,
    city,
    company,
    email: () => `${oneOf(random, mailboxes)}@${kebabCase(company())}.example`,
  };
}

export function koreanValues(random: () => number, lists: Lists, units: Sampler<string>): Values {
  const { mailboxes } = corpusData().values.ko;
  const shared = sharedValues(random);
  const number = (low: number, high: number) => between(random, low, high);
  const given = () => lists('given-head') + lists('given-tail');
  const company = () => `${lists('firm-head')}${lists('firm-tail')}`;
  return {
    ...shared,
    quantity: () => quantityOf(random, units()),
    percent: () => oneOf(random, [`${number(2, 98)}%`, `${number(2, 98)}퍼센트`, `${number(1, 19)}.${number(1, 9)}%`]),
    money: () =>
      oneOf(random, [
        `${number(2, 95)}만 원`,
        `${grouped(number(5, 950) * 100)}원`,
        `${number(2, 95)}억 원`,
        `${number(5, 950)}달러`,
        `${number(2, 95)}만 ${number(1, 9)}천 원`,
      ]),
    date: () => oneOf(random, [`${lists('month')} ${number(1, 28)}일`, isoDate(random)]),
    time: () =>
      oneOf(random, [
        `오전 ${number(1, 11)}시`,
        `오후 ${number(1, 11)}시 ${number(1, 5)}0분`,
        `저녁 ${number(6, 9)}시`,
        clock(random),
      ]),
    given,
    person: () => lists('family') + given(),
    city: () => lists('town-head') + lists('town-tail') + lists('town-kind'),
    company,
    email: () => `${oneOf(random, mailboxes)}@firm${number(10, 99)}.example`,
  };
}

const padded = (value: number) => String(value).padStart(2, '0');

function isoDate(random: () => number): string {
  return `${between(random, 1990, YEAR_LAST)}-${padded(between(random, 1, 12))}-${padded(between(random, 1, 28))}`;
}

function clock(random: () => number): string {
  return `${padded(between(random, 0, 23))}:${padded(between(random, 0, 59))}`;
}
