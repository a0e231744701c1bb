/** English words of no domain in particular: lists parted by commas. Names of people, places and firms are made up. */
export const GENERAL_ENGLISH = {
  concept: `patience, courage, honesty, ambition, boredom, gratitude, luck, wisdom, silence, fairness, curiosity, pride, shame,
    loyalty, envy, generosity, laziness, beauty, danger, poverty, wealth, power, failure, success, trust, doubt, hope, fear, habit,
    tradition, progress, order, chaos, balance, growth, decline, speed, distance, warmth, darkness, noise, comfort, safety, hunger,
    thirst, youth, old age, health, peace, conflict, change, chance, effort, talent, taste, memory, imagination, humour, politeness,
    discipline, responsibility, independence, friendship, rivalry, kindness, cruelty, simplicity, quality, precision, mystery`,
  object: `blanket, bucket, candle, ladder, rope, basket, needle, hammer, drawer, envelope, calendar, spoon, jar, lamp, coin, map, key,
    knife, stool, towel, clock, ribbon, box, shovel, cushion, string, nail, glove, bell, kite, puzzle, notebook, stamp, broom, magnet,
    ticket, whistle, hinge, curtain, mug, balloon, cupboard, kettle, shelf, purse, flag, marble, funnel, crayon, wheel`,
  creature: `dog, cat, sparrow, hedgehog, donkey, tiger, dolphin, ant, crow, rabbit, elephant, snail, crocodile, bee, parrot, mole,
    camel, eel, owl, moose, pony, duckling, crab, monkey, seal, turtle, swan, hamster, fox, bear`,
  everyday: `wait for the bus, feed the cat, water the plants, answer the phone, take the stairs, wash the dishes, forget an umbrella,
    lose the keys, call a friend, write a list, make the bed, read the newspaper, paint the fence, bake bread, go for a walk, fix the
    bicycle, take a nap, sweep the yard, move the furniture, sing in the shower, open the window, light a fire, learn to swim, sort old
    photos, visit a neighbour, stay at home, miss the last train, fall asleep on the sofa, burn the toast, drink a cup of tea, tidy the
    attic, catch a cold, chase a ball, dig a hole, climb a tree, count the change, knock on the door, watch the sunset, break a glass,
    tell a joke, borrow a ladder, play cards, hang up the washing, carry the shopping, keep a secret, win a bet, skip breakfast`,
  good: `excellent, reliable, delightful, outstanding, superb, flawless, impressive, pleasant, wonderful, top-notch, remarkable, solid,
    charming, first-rate, brilliant, satisfying, comfortable, generous, thoughtful, refreshing`,
  bad: `terrible, disappointing, awful, useless, mediocre, shoddy, dreadful, annoying, unacceptable, frustrating, careless, poor,
    misleading, tedious, unreliable, clumsy, sloppy, horrible, pointless, unhelpful`,
  quality: `small, enormous, ordinary, unusual, modern, old-fashioned, cheap, costly, simple, complicated, quiet, colourful, dull, bright,
    heavy, light, narrow, wide, early, late, quick, slow, rare, common, local, foreign, public, private, temporary, lasting, visible,
    hidden, official, careful, sudden, gradual, strange, familiar, central, reasonable, popular, forgotten, promising, fragile, sturdy,
    new, empty, crowded, useful, harmless`,
  adverb: `quickly, carefully, rarely, often, suddenly, secretly, gradually, barely, openly, safely, reluctantly, eagerly, publicly,
    repeatedly, almost always, deliberately, by accident, without warning, in silence, together, properly, twice, at the last minute,
    free of charge, on purpose, once again`,
  when: `yesterday, last winter, this morning, two weeks ago, in early spring, before dawn, at noon, during the holidays, over the weekend,
    late at night, after the meeting, every Tuesday, once a year, since childhood, in the past decade, at the end of the month, by next
    summer, until further notice, for the first time, in recent years, shortly after midnight, around lunchtime`,
  where: `near the river, at the corner, in the basement, on the upper floor, behind the church, across the street, in a small village, at
    the station, on the northern coast, in the city centre, under the bridge, outside the gate, by the lake, in the hall, on the
    internet, at home, abroad, along the main road, at the office, in the mountains`,
  reason: `because the budget was cut, because nobody had checked the details, since the old one broke, to save time, in order to reduce
    costs, due to a shortage of staff, because the rules changed, so that everyone can take part, to avoid another mistake, since
    demand was higher than expected, because of the weather, after several complaints, because it was cheaper, to protect children,
    owing to a lack of space, since there was no alternative, because people asked for it, to keep a promise`,
  result: `and nobody was surprised, but the problem came back, and costs rose sharply, which pleased the neighbours, but few people noticed,
    and everything went smoothly, yet the results were mixed, and the queue grew longer, which made matters worse, but it was worth the
    effort, and the newspapers wrote about it, although experts had warned against it, and half of it was thrown away, but the law did
    not allow it, and we learned a lot, which took longer than planned, and it saved a fortune, but the damage was done`,
  said: `said, admitted, claimed, explained, complained, announced, insisted, warned, denied, promised, suggested, estimated, reported,
    confirmed, argued, predicted`,
  asker: `my boss, my sister, a friend, my neighbour, our customer, the auditor, my grandfather, a colleague, my daughter, the landlord, our
    teacher, a beginner, a reader, my flatmate, our client`,
  feeling: `relieved, worried, proud, confused, grateful, angry, bored, surprised, hopeful, tired, nervous, content, embarrassed, curious,
    homesick, lonely, amused, guilty`,
  country: `Norway, Kenya, Peru, Vietnam, Portugal, Canada, Egypt, Indonesia, Mexico, Poland, Nigeria, Japan, Chile, Turkey, Finland,
    Morocco, Thailand, Greece, Brazil, Korea, India, Iceland, Ghana, Italy, Argentina, Mongolia, New Zealand, Ireland, Cuba, Nepal,
    Ukraine, Ethiopia, Sweden, Colombia, Malaysia, Spain, China, Hungary, Tunisia, Australia, Germany, France, Iran, Bolivia, Romania,
    Uganda, the Philippines, the Netherlands, Saudi Arabia, Kazakhstan, Switzerland, Denmark`,
  month: `January, February, March, April, May, June, July, August, September, October, November, December`,
  weekday: `Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday`,
  given: `Anna, Omar, Lucia, Peter, Mei, Kofi, Ingrid, Rafael, Nadia, Tom, Priya, Henrik, Leila, Marco, Yuki, Grace, Dmitri, Rosa, Samuel,
    Fatima, Oscar, Helen, Ravi, Clara, Ahmed, Sofia, Liam, Ewa, Diego, Hannah, Jin, Viktor, Amara, Paul, Irene, Bilal, Maya, Felix, Zoe,
    Martin`,
  nameHead: `Hal, Bren, Tor, Mar, Wick, Ash, Len, Dun, Cor, Fen, Gal, Hol, Kel, Lang, Mor, Nor, Pen, Quin, Ros, Stan, Tal, Ver, Wes, Yar,
    Zel, Bal, Cas, Dor, El, Far`,
  nameTail: `ford, low, mere, wick, strand, by, ton, field, worth, dale, berg, stead, more, gate, ley, hurst, ova, ini, aki, ado, escu, sen`,
  firmTail: `Systems, Foods, Group, Holdings, Labs, Motors, Partners, Energy, Textiles, Logistics, Media, Pharma, Bank, Airlines, Robotics,
    Steel, Insurance, Games, Telecom, Brothers`,
  link: `However, Therefore, In addition, For example, On the other hand, As a result, Meanwhile, In short, Even so, At first, In practice,
    By contrast, Besides, Above all`,
  change: `rise, fall, improve, decline, grow, shrink, spread, double`,
} as const;
