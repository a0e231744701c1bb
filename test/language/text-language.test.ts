import { expect, it } from 'vitest';
import { analyseQueryText, matchingTerms } from '../../src/language/analyser.ts';
import { findStemForms } from '../../src/language/stem-forms.ts';
import { languageOfText, languagesOfQuery } from '../../src/language/text-language.ts';

it.each([
  ['Der Vertrag wird mit der Unterschrift wirksam und gilt für ein Jahr.', 'de'],
  ['El contrato entra en vigor con la firma y dura un año.', 'es'],
  ['Le contrat prend effet à la signature et dure un an.', 'fr'],
  ['Il contratto ha effetto dalla firma e dura un anno.', 'it'],
  ['O contrato entra em vigor com a assinatura e dura um ano.', 'pt'],
  ['Het contract gaat in met de handtekening en duurt een jaar.', 'nl'],
  ['The contract takes effect when it is signed, and lasts a year.', null],
  ['const total = items.reduce((sum, item) => sum + item.price, 0);', null],
  ['El Niño', null],
  ['계약은 서명한 날부터 한 해 동안 효력이 있고 두 부를 만든다. La La Land', null],
])('the language of "%s" is %s', (text, language) => {
  expect(languageOfText(text)).toBe(language);
});

it('a query without function words may be in any language, and an English one is in no other', () => {
  expect(languagesOfQuery('Hausordnung Ruhezeiten')).toMatchObject({ likely: null });
  expect(languagesOfQuery('Hausordnung Ruhezeiten').possible).toContain('de');
  expect(languagesOfQuery('wann sind die Ruhezeiten')).toEqual({ likely: 'de', possible: ['de'] });
  expect(languagesOfQuery('when are the quiet hours of the house')).toEqual({ likely: null, possible: [] });
});

it('a query also looks for the stems that its words have in other languages', () => {
  expect(findStemForms('wo sind die Häuser')[0]).toEqual({ phrase: ['hauser'], others: [['haus']], share: 1 });
  const [forms] = findStemForms('Häuser');
  expect(forms).toMatchObject({ phrase: ['hauser'], share: 0.5 });
  expect(forms?.others).toContainEqual(['haus']);
  expect(analyseQueryText('Häuser')).toEqual(['hauser']);
  expect([...matchingTerms('Häuser')]).toEqual(expect.arrayContaining(['hauser', 'haus']));
  const [other, ...more] = findStemForms('what is in the Häuser');
  expect(other).toMatchObject({ phrase: ['hauser'], share: 0.1 });
  expect(other?.others).toContainEqual(['haus']);
  expect(more).toEqual([]);
});
