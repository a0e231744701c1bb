import { expect, it } from 'vitest';
import { analyse } from '../../src/language/analyser.ts';
import { BestRows } from '../../src/resident/best-rows.ts';
import { KeywordRows } from '../../src/resident/keywords/keyword-rows.ts';
import { analyseQuery } from '../../src/search/analyse-query.ts';
import { highlight } from '../../src/search/results/highlight.ts';

const NAME = 'texts';

/** Rank texts by keywords, as a search of one bucket does. */
function rank(texts: readonly string[], query: string): string[] {
  const rows = new KeywordRows();
  for (const text of texts) {
    const bytes = Buffer.from(analyse(text).join(' '));
    rows.add(bytes, 0, bytes.length);
  }
  const analysed = analyseQuery(query, [{ indexTable: { name: NAME }, synonyms: null } as never]);
  const best = new BestRows(10, String);
  rows.search(analysed.ownTerms.get(NAME) ?? analysed.terms, null, { best, first: 0 });
  return best.toSorted().map(({ row }) => texts[row] as string);
}

it.each([
  ['German', 'Die Häuser der Stadt stehen am Hafen.', ['Haus', 'wo stehen die Häuser', 'häuser hafen', 'Städte']],
  ['Spanish', 'Las bibliotecas de la ciudad prestan libros.', ['biblioteca', 'quién presta un libro', 'ciudades']],
  ['French', 'Les bateaux quittent le port avec la marée.', ['quitter le port', 'marées', 'ports']],
  ['Russian', 'Книги стоят на полках библиотеки.', ['книга', 'полка', 'что стоит в библиотеке']],
  ['Thai', 'แมวดำนอนอยู่บนหลังคาบ้าน', ['แมวดำ', 'หลังคา']],
  ['Japanese', '東京タワーは港区にある。', ['東京タワー', '港区']],
])('a query finds other forms of the words of a text: %s', (_, text, queries) => {
  const texts = ['The ferry leaves at noon.', text, '만조는 새벽입니다.'];
  for (const query of queries) expect(rank(texts, query), query).toEqual([text]);
});

it('a word matches itself even if the languages of query and text are recognised differently', () => {
  const texts = ['Die Informationen der Bibliotheken sind für alle da.', 'Informationen: Bibliotheken, Zeiten'];
  for (const query of ['Informationen Bibliotheken', 'the Informationen of the Bibliotheken'])
    expect(rank(texts, query).toSorted(), query).toEqual(texts.toSorted());
});

it('a long Korean name ranks before texts that repeat a part of it', () => {
  const name = '채용 공고입니다. 한국장애인고용공단은 서류를 받은 뒤에 면접을 보고, 결과를 홈페이지에 알립니다.';
  const part = '장애인 고용은 늘었다. 장애인과 고용, 장애인을 고용한 공단, 장애인 고용 공단의 장애인 고용.';
  expect(rank([part, name], '한국장애인고용공단 면접')).toEqual([name, part]);
  expect(rank([part, name], '한국장애인고용공단')[0]).toBe(name);
});

it('other forms of the words are highlighted in the language of the text', () => {
  const { terms, ownTerms } = analyseQuery('Haus', [{ indexTable: { name: NAME }, synonyms: null } as never]);
  const all = new Set([terms, ...ownTerms.values()].flat().flatMap((group) => group.terms));
  const [shown] = highlight('Die Häuser der Stadt stehen am Hafen.', all);
  expect(shown?.parts.filter(({ match }) => match).map(({ text }) => text)).toEqual(['Häuser']);
});
