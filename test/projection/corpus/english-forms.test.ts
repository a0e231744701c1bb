import { describe, expect, it } from 'vitest';
import * as forms from '../../../src/projection/corpus/english-forms.ts';

describe('English forms', () => {
  it.each([
    ['boarding pass', 'boarding passes'],
    ['bill of lading', 'bills of lading'],
    ['customs broker', 'customs brokers'],
    ['city', 'cities'],
    ['tray', 'trays'],
    ['knife', 'knives'],
    ['potato', 'potatoes'],
    ['photo', 'photos'],
  ])('the plural of %s is %s', (one, many) => {
    expect(forms.pluralOf(one)).toBe(many);
  });

  it.each([
    ['book a seat', 'booked a seat', 'booked a seat', 'booking a seat'],
    ['write a will', 'wrote a will', 'written a will', 'writing a will'],
    ['stop the line', 'stopped the line', 'stopped the line', 'stopping the line'],
    ['file a claim', 'filed a claim', 'filed a claim', 'filing a claim'],
    ['carry it', 'carried it', 'carried it', 'carrying it'],
    ['roast a chicken', 'roasted a chicken', 'roasted a chicken', 'roasting a chicken'],
    ['water the plants', 'watered the plants', 'watered the plants', 'watering the plants'],
    ['tie a rope', 'tied a rope', 'tied a rope', 'tying a rope'],
    ['refer a patient', 'referred a patient', 'referred a patient', 'referring a patient'],
  ])('the past, participle and gerund of %s are correct', (base, past, participle, gerund) => {
    expect([forms.pastOf(base), forms.participleOf(base), forms.gerundOf(base)]).toEqual([past, participle, gerund]);
  });

  it.each([
    ['apple', 'an'],
    ['university', 'a'],
    ['unusual idea', 'an'],
    ['MRI', 'an'],
    ['hourglass', 'an'],
    ['Utility', 'a'],
    ['euro', 'a'],
    ['once-only', 'a'],
    ['boat', 'a'],
  ])('the article of %s is %s', (following, article) => {
    expect(forms.articleOf(following)).toBe(article);
  });

  it('phrases are converted to identifiers', () => {
    const phrase = "women's first-class ticket";
    expect(forms.snakeCase(phrase)).toBe('women_s_first_class_ticket');
    expect(forms.camelCase(phrase)).toBe('womenSFirstClassTicket');
    expect(forms.kebabCase(phrase)).toBe('women-s-first-class-ticket');
  });
});
