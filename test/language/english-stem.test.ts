import { describe, expect, it } from 'vitest';
import { stemEnglish } from '../../src/language/english-stem.ts';

describe('stemEnglish', () => {
  // From the published description of the algorithm and its sample vocabulary.
  it.each([
    ['caresses', 'caress'],
    ['ties', 'tie'],
    ['cries', 'cri'],
    ['gas', 'gas'],
    ['gaps', 'gap'],
    ['kiwis', 'kiwi'],
    ['agreed', 'agre'],
    ['luxuriating', 'luxuri'],
    ['hopping', 'hop'],
    ['hoping', 'hope'],
    ['consign', 'consign'],
    ['consigned', 'consign'],
    ['consistency', 'consist'],
    ['consolation', 'consol'],
    ['consolatory', 'consolatori'],
    ['knavish', 'knavish'],
    ['knightly', 'knight'],
    ['knocker', 'knocker'],
    ['knots', 'knot'],
    ['generate', 'generat'],
    ['general', 'general'],
    ['skies', 'sky'],
    ['dying', 'die'],
    ['news', 'news'],
    ['herring', 'herring'],
    ['exceed', 'exceed'],
    ['say', 'say'],
    ['cry', 'cri'],
    ['by', 'by'],
    ['adoption', 'adopt'],
    ['compression', 'compress'],
    ['rolling', 'roll'],
    ['youth', 'youth'],
  ])('the English stem of %s is %s', (word, stem) => {
    expect(stemEnglish(word)).toBe(stem);
  });
});
