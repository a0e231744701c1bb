/** English words that carry little meaning. Both lists were written for this project. */

function list(words: string): string[] {
  return words.trim().split(/\s+/);
}

/** Function words, which are not indexed, searched or embedded. `us` is also a country, and therefore missing. */
export const ENGLISH_STOP_WORDS: ReadonlySet<string> = new Set(
  list(`
    a an the this that these those such same other another each every any all both few more most some no nor not only
    own so than too very just also i me my myself we our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves who whom whose which what when where
    why how there here then once again further am is are was were be been being have has had having do does did doing
    done will would shall should can could may might must ought cannot and but or if because as until while of at by
    for with about against between into through during before after above below to from up down in out on off over
    under within without via upon etc eg ie
    im youre hes shes theyre weve youve theyve ive id youd hed shed theyd ill youll theyll isnt arent wasnt werent
    hasnt havent hadnt doesnt dont didnt wont wouldnt shant shouldnt cant couldnt mustnt lets thats whos whats heres
    theres wheres hows
  `),
);

/** Words so common in all writing that they get a lower weight than rarer words. */
export const ENGLISH_COMMON_WORDS: readonly string[] = list(`
  able accept access accord account achieve across act action active activity actual add addition address affect
  afford age agree aim allow almost alone along already although always american among amount analysis answer anyone
  anything appear application apply approach appropriate area argue around arrange article ask aspect associate
  assume attempt author available average avoid away back bad base basic basis become begin behind believe benefit
  best better beyond big bit body book bring build business buy call care carry case cause center central certain
  chance change character check choice choose city claim class clear close code collect come common community company
  compare complete complex concern condition conclude consider consist contain continue contrast contribute control
  cost country course cover create current cut data date day deal decade decide decision define definition degree
  depend derive describe description design detail determine develop development differ difference different
  difficult difficulty direct direction discuss discussion document drive due early easy effect effective effort
  either element else employ enable end enough ensure enter entire equal especially essential establish estimate even
  event ever evidence exact examine example except exist expect experience experiment explain express extend extent
  face fact factor fail fall family far feature feel field figure fill final find first fit five focus follow food
  force form former forward found four free frequent full function future gain general get give go good government
  great group grow half hand happen hard hold head health hear help hence high hope hour house however human hundred
  idea identify image important improve include increase indeed indicate individual industry influence information
  initial instance instead intend interest introduce introduction investigate involve issue item join journal keep
  key kind know knowledge known label lack large last late later lead learn least leave left less let letter level lie
  life light like likely limit line list literature little live local location long look lose lot love low made main
  maintain major make man manage manner many mark market material matter mean measure medical meet member mention
  method middle mind minute miss model modern moment money month move much multiple name national natural nature near
  necessary need never new next night normal note nothing notice now number object observe obtain occur offer office
  often old one open operate operation opinion opportunity order organization origin original paper paragraph part
  particular pass past pay people per percent perform performance perhaps period person phase place plan play point
  policy popular position possible potential power practice prepare present president pressure prevent previous price
  primary principle private problem procedure process produce product program project proper property propose provide
  public publish purpose put quality quantity question quick quite raise range rate rather reach read real reason
  receive recent recommend record reduce refer reference region regard relate relation relative release relevant
  remain remove report represent require requirement research resource respect response responsible rest result
  return review right rise role room rule run safe say scale school science section see seem select sense separate
  series serve service set seven several shape share short show side sign significant similar simple since single
  situation six size small social society solution solve someone something sometimes soon sort sound source space
  speak special specific spend stand standard start state statement step still stop story street strong structure
  student study subject success suggest suitable support sure surface system table take talk task teach team technique
  tell ten tend term test text thank therefore thing think third though thought thousand three throughout thus time
  title today together top total toward town treat true try turn two type typical understand unit university unless
  upper use useful user usual value variable variety various view visit volume walk want water way week well whether
  white whole wide wish woman word work world write wrong year yes yet young
`);
