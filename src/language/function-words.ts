import type { StemmedLanguage } from './stemmers.ts';

function list(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}

/**
 * Words that only connect other words, by language. They reveal the language of a text, and weigh less in a query. The
 * lists were written for this project. English ones are the stop words.
 */
export const FUNCTION_WORDS: ReadonlyMap<StemmedLanguage | 'ru', ReadonlySet<string>> = new Map([
  [
    'de',
    list(`
      der die das den dem des ein eine einen einem einer eines und oder aber sondern denn weil dass ob wenn als wie wo
      wer was wann warum welche welcher welches wieviel ich du er sie es wir ihr mich dich ihn uns euch ihm ihnen mein
      dein sein ihre ihren man ist sind war waren wird werden wurde wurden hat haben hatte kann können muss müssen soll
      sollen will darf dürfen mag nicht kein keine keinen am an auf aus bei mit nach seit von vom zu zum zur für über
      unter vor zwischen durch gegen ohne um ab bis in im ins beim auch nur noch schon sehr mehr so also da dann hier
      bald alle
    `),
  ],
  [
    'es',
    list(`
      el la los las un una unos unas de del al a que qué y e o u pero porque si cuando cuándo como cómo donde dónde
      quien quién quiénes cual cuál cuáles cuánto cuánta cuántos cuántas cada en con por para sin sobre entre desde
      hasta hacia según se su sus me mi mis te tu tus lo le les nos es son está están fue fueron era eran ser estar hay
      ha han no muy más menos ya también este esta estos estas ese esa esos esas todo
    `),
  ],
  [
    'fr',
    list(`
      le la les l un une des de du d à au aux et ou où mais car donc ni que qu qui quoi dont quand comment pourquoi quel
      quelle quels quelles combien je j tu il elle on nous vous ils elles me m te t se s lui leur leurs mon ma mes ton
      ta tes son sa ses notre nos votre vos ce cet cette ces c est sont était étaient été être a ont avait avoir ne n
      pas plus moins très en y dans sur sous par pour avec sans chez entre vers depuis aussi si tout tous toute
    `),
  ],
  [
    'it',
    list(`
      il lo la i gli le l un uno una di del dello della dei degli delle dell d a al allo alla ai agli alle all da dal
      dallo dalla dai dagli dalle dall in nel nello nella nei negli nelle nell su sul sullo sulla sui sugli sulle sull
      con per tra fra e ed o ma se che chi cui quale quali quando quanto quanti quante come dove perché io tu lui lei
      noi voi loro mi ti si ci vi ne mio mia suo sua suoi sue è sono era erano fu essere ha hanno aveva avere non più
      meno molto anche questo questa questi queste quello quella
    `),
  ],
  [
    'pt',
    list(`
      o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às por pelo pela pelos pelas para com sem
      sob sobre entre desde até e ou mas porque se que quem qual quais quando quanto quantos quantas como onde eu tu
      ele ela eles elas nós vós me te lhe lhes meu minha seu sua seus suas é são era eram foi foram ser estar está há
      tem têm não mais menos muito também já este esta estes estas esse essa isso aquele
    `),
  ],
  [
    'nl',
    list(`
      de het een der des van in op aan met voor door over onder tussen tegen naar bij uit om tot te en of maar want
      omdat als dat die dit deze wat wie waar wanneer hoe waarom welke ik je jij u hij zij ze wij we jullie mij hem haar
      ons hun mijn zijn is was waren wordt worden werd werden heeft hebben had kan kunnen moet moeten zal zullen niet
      geen ook nog al wel zeer meer er men zich hoeveel
    `),
  ],
  [
    'sv',
    list(`
      och i att det som en ett den de på är av för med till inte om har var från vid eller men när hur vad vem vilken
      vilket vilka varför jag du han hon vi ni de dem sig sin sitt sina min din vår er kan ska skulle blev blir varit
      hade under efter mellan mot utan också mycket mer än då där här så upp ut över
    `),
  ],
  [
    'da',
    list(`
      og i at det som en et den de på er af for med til ikke om har var fra ved eller men når hvordan hvad hvem hvilken
      hvilket hvilke hvorfor hvor jeg du han hun vi dem sig sin sit sine min din vores kan skal skulle blev bliver
      været havde under efter mellem mod uden også meget mere end da der her så op ud over
    `),
  ],
  [
    'no',
    list(`
      og i å at det som en et ei den de på er av for med til ikke om har var fra ved eller men når hvordan hva hvem
      hvilken hvilket hvilke hvorfor hvor jeg du han hun vi dem seg sin sitt sine min din vår kan skal skulle ble blir
      vært hadde under etter mellom mot uten også mye mer enn da der her så opp ut over
    `),
  ],
  [
    'fi',
    list(`
      ja on ei se että oli hän mutta tai kun jos niin kuin joka jotka myös ovat olivat ole ollut olla voi mitä mikä
      kuka missä milloin miten miksi kuinka minä sinä me te he ne tämä nämä nuo sen sitä siitä siihen hänen heidän
      minun sinun kanssa ennen jälkeen välillä sekä vain vielä jo hyvin enemmän
    `),
  ],
  [
    'hu',
    list(`
      a az egy és hogy nem is volt van vagy de ha mint ez azt ezt mit mi ki hol mikor hogyan miért melyik mely amely
      aki ami ők ő én te mi ti meg el fel le be ki csak már még nagyon több után előtt között alatt szerint által
      lesz lett vannak voltak minden
    `),
  ],
  [
    'ro',
    list(`
      și si în in la de pe cu din pentru nu este sunt a al ale ai un o unui unei care ce cine când cum unde de ce cât
      câte câți dar sau dacă că să se el ea ei ele eu tu noi voi lui lor său sa sale fost era erau are au avea fi mai
      foarte după prin între până despre fără către acest această acești aceste
    `),
  ],
  [
    'tr',
    list(`
      ve bir bu da de ile için ne mi mı mu mü olan olarak çok daha en gibi kadar ama veya ya ki o ben sen biz siz onlar
      şu hangi nasıl neden nerede kim kaç zaman değil var yok ise sonra önce üzerinde göre tarafından olduğu oldu
      ancak her
    `),
  ],
  [
    'ru',
    list(`
      и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее её мне было вот от меня
      еще ещё нет о об обо из ему когда даже ну ли если уже или ни быть был него до вас там потом себя ей они тут где
      есть надо ней для мы тебя их чем была сам чтобы чего кто этот того потому этого какой какая какие какое каких
      каком какую какова кому кого кем чему сколько почему зачем куда откуда который которая которое которые которого этом эта
      эти это при через после перед между под над без про также были будет
    `),
  ],
]);
