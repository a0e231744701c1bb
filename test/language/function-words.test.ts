import { expect, it } from 'vitest';
import { analyseQueryText, weighTerms } from '../../src/language/analyser.ts';
import { languagesOfQuery } from '../../src/language/text-language.ts';

const weigh = (query: string) => {
  const groups = weighTerms(analyseQueryText(query), languagesOfQuery(query).likely);
  return Object.fromEntries(groups.flatMap(({ terms, weight }) => terms.map((term) => [term, weight])));
};

it('function words of a German or Spanish query weigh a tenth of the others', () => {
  expect(weigh('Wasser tritt aus dem Rohr aus')).toEqual({ wasser: 1, tritt: 1, aus: 0.2, dem: 0.1, rohr: 1 });
  expect(weigh('¿cuándo se vacuna el perro?')).toEqual({ cuando: 0.1, se: 0.1, vacuna: 1, el: 0.1, perro: 1 });
});

it('words of other languages that look like function words keep their weight', () => {
  expect(weigh('to die in the war of man')).toEqual({ die: 1, war: 1, man: 1 });
  expect(weigh('el nino')).toEqual({ el: 1, nino: 1 });
  expect(weigh('항구 der 만조')).toEqual({ der: 2, 항구: 1, 만조: 1 });
});

it('a query of function words alone keeps their weights', () => {
  expect(weigh('ob und wann')).toEqual({ ob: 1, und: 1, wann: 1 });
});

it('a whole word weighs as much as a word in pieces, and long words more than their pieces', () => {
  expect(weigh('iphone 케이스')).toEqual({ iphon: 2, 케이: 1, 이스: 1 });
  expect(weigh('iphone ケース')).toEqual({ iphon: 5, ケー: 1, ース: 1, ケース: 1 });
  expect(weigh('데이터베이스')).toEqual({ 데이: 1, 이터: 1, 터베: 1, 베이: 1, 이스: 1, 데이터베이스: 2 });
  expect(weigh('データベース')).toMatchObject({ デー: 1, データベース: 1.5 });
});
