/** Words of a language that only connect other words. */
export interface FunctionWords {
  /** Words that no other language here uses differently. Two of them determine the language of a query. */
  readonly own: string;
  /** Words that also have a meaning in English. */
  readonly shared: string;
}

/** Function words of languages that `words.ts` indexes whole. It drops only English ones, and Korean particles. */
export const FUNCTION_WORDS: readonly FunctionWords[] = [
  {
    own:
      'der das dem ein eine einen einem einer eines und oder aber sondern denn weil dass ob wenn als wie wo wann warum ' +
      'welche welcher welches ich du er sie es wir ihr mich dich ihn uns euch ihm ihnen mein dein sein ihre ihren ist sind ' +
      'waren wird werden wurde wurden haben hatte kann können muss müssen soll sollen darf dürfen nicht kein keine keinen ' +
      'auf aus bei mit nach seit von vom zu zum zur für über unter vor zwischen durch gegen ohne um ab bis im ins beim ' +
      'auch nur noch schon sehr mehr wieviel',
    shared: 'die den des war hat man so an am in was wer will also da dann hier bin mag bald alle',
  },
  {
    own:
      'el los las un una unos unas del al que qué y o pero porque cuando cuándo como cómo donde dónde quien quién cual ' +
      'cuál cuánto cuánta cuántos cuántas cada en con por para sobre entre desde hasta hacia según se su sus mi mis tu tus ' +
      'lo le les nos es está están fue ser estar hay ha han muy más menos ya también este esta estos estas ese esa esos esas',
    shared: 'la de a me no son sin son era todo',
  },
];
