import { detectByScript } from '../language/detect-language.ts';

export type ReplyLanguage = 'en' | 'ko';

/** Fixed reply for a special situation. */
export type Phrase = 'nothing_found' | 'too_many' | 'too_slow' | 'unavailable' | 'no_question' | 'waiting';

const PHRASES: Readonly<Record<ReplyLanguage, Readonly<Record<Phrase, string>>>> = {
  en: {
    nothing_found: 'I found nothing about that. Please ask in other words.',
    too_many: 'You have asked many questions in a short time. Please try again in a minute.',
    too_slow: 'Sorry, finding an answer takes too long at the moment. Please try again shortly.',
    unavailable: 'Sorry, no answers are available at the moment. Please try again later.',
    no_question: 'Please write your question.',
    waiting: 'One moment, I am looking for the answer.',
  },
  ko: {
    nothing_found: '관련된 내용을 찾지 못했습니다. 다른 표현으로 다시 질문해 주세요.',
    too_many: '짧은 시간에 질문이 많았습니다. 1분 후에 다시 시도해 주세요.',
    too_slow: '죄송합니다. 지금은 답변을 찾는 데 시간이 오래 걸립니다. 잠시 후 다시 시도해 주세요.',
    unavailable: '죄송합니다. 지금은 답변을 드릴 수 없습니다. 나중에 다시 시도해 주세요.',
    no_question: '질문을 입력해 주세요.',
    waiting: '답변을 찾고 있습니다. 잠시만 기다려 주세요.',
  },
};

/** Return Korean for a Korean utterance, otherwise English. */
export function languageOf(utterance: string): ReplyLanguage {
  return detectByScript(utterance).language === 'ko' ? 'ko' : 'en';
}

export function phraseOf(phrase: Phrase, language: ReplyLanguage): string {
  return PHRASES[language][phrase];
}

/** Render the source of a passage, such as `manual.pdf, p. 3`. */
export function sourceOf(fileName: string, page: number | null, language: ReplyLanguage): string {
  if (page === null) return fileName;
  return language === 'ko' ? `${fileName}, ${page}쪽` : `${fileName}, p. ${page}`;
}
