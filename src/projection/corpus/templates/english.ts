/** English templates by task, one a line; `↵` is a line break, `q>` marks a query where a task has both. The language is described in `grammar.ts`. */
export const ENGLISH_TEMPLATES = {
  question: `
    What is the difference between {a} {thing} and {a} {thing}?
    How much does {a} {adj} {thing} cost in {country}?
    Why did the {who} {act} {when}?
    When should I {act}?
    Who is allowed to {act} in {country}?
    Is it <legal|safe|normal|worth it> to {act} without {a} {thing}?
    Which {thing} is best for {a} {who} who has to {act}?
    Does {topic} affect {topic}?
    What are the main causes of {topic}?
    How many {thing.pl} does {a} {who} need for {quantity}?
    What happens if you {act} too late?
    Where can I find {a} {adj} {thing} {where}?
    {asker.cap} asked me what {topic} means. How would you explain it?
    Can {a} {thing} be {adj} and still pass the inspection?
    How long does it take to {act}, and what should I do first?
    In what year did {person} {act}?
    What percentage of {thing.pl} in {country} are {adj}?
    Should I be worried about {topic} if my {thing} is {adj}?
    What did {a} {who} do before there was {a} {thing}?
    Has anybody here ever {act.part} {adverb}?
    Does {a} {creature} like {concept}, or is that {a} {quality} idea?
    how old must {a} {who} be to {act}`,
  howto: `
    how to {act}
    How do I {act} {where}?
    Steps to {act} without {a} {thing}
    How can {a} {who} deal with {topic}?
    best way to {act} {adverb}
    How to choose {a} {adj} {thing} for {topic}
    To {act}, first {act}, then {act}, and finally {everyday}.
    Before you {act}, make sure that the {thing} is {adj} and that nobody can {act}.
    Always {act} before you {act}; otherwise the {thing} may become {adj}.
    What do I need if I want to {act} and {act} on the same day?
    beginner's guide: {act} in {number} minutes`,
  keywords: `
    {topic} {thing} {country}
    {adj} {thing} price {year}
    {topic} vs {topic}
    {who} {topic} statistics {year}
    {thing} {thing} {thing}
    best {adj} {thing} near {city}
    {act.ing} cost {quantity}
    {topic} definition and examples
    {thing} {adj} problem {code}
    cheap {thing} {city} {weekday}
    {concept} quotes about {topic}
    {company} {thing} review
    {creature} {object} meaning
    symptoms of {topic} in {who.pl}`,
  statement: `
    {frame}
    {frame}
    {frame}
    {frame}
    {frame}
    {frame}
    The {who} {act.past} {when}, {result}.
    {a} {adj} {thing} is often more useful than {a} {adj} one.
    {person} wants to {act} {reason}.
    {who.pl} in {country} {adverb} {act} when the {thing} is {adj}.
    {topic} and {topic} are closely connected.
    If the {who} had {act.part}, the {thing} would not have been so {adj}.
    Although it looks {adj}, {a} {thing} can help {a} {who} to {act}.
    Every {who} knows that {act.ing} takes time, {result}.
    The {thing} that {person} bought {where} turned out to be {adj}.
    Neither the {who} nor the {who} was able to {act} {when}.
    Not every {thing} is {adj}: some are {quality}, others were made to {act}.
    {num.cap} of {number} {who.pl} {said} that {topic} is {a} {quality} problem.
    {concept.cap} is what {a} {who} needs most when it is time to {act}.
    There was {a} {object} on the {adj} {thing}, and {a} {creature} slept {where}.
    {person} {everyday.past} {when}, {reason}.
    It took the {who} {quantity} to {act}, {result}.
    Rather than {act}, the {who} decided to {act} {adverb}.`,
  passage: `
    {frame} {frame}
    {frame} {sentence}
    {sentence} {frame}
    {frame} {frame} {sentence}
    {sentence} {sentence} {sentence}
    {frame} {frame} {frame} {frame}
    {frame} {sentence} {frame} {link}, {clause}. {frame}
    {sentence} {frame} {sentence} {frame}
    {frame} {link}, {clause}.
    {sentence} {link}, {clause}.
    {topic.cap} has been discussed {when}. {frame} {link}, {clause}.`,
  sentence: `
    The {who} {act.past}, {result}.
    {person}, {a} {adj} {who}, has {act.part} {adverb}.
    {clause.cap}.
    It is {quality} to {act} {when}, since {clause}.
    Many {who.pl} prefer {a} {adj} {thing} when they {act}.
    Experts expect that {topic} will {change} by {percent} before {year}.
    One {thing} in {number} is {adj}, {reason}.
    {topic.cap} made the {who} {feeling}.
    We {everyday.past} and talked about {topic}.`,
  clause: `
    the {who} {act.past}
    {a} {adj} {thing} cannot replace {a} {quality} one
    {topic} is harder to explain than {topic}
    every {who} has to {act} sooner or later
    the {thing} was {adj} and the {who} was {feeling}
    nobody {act.past} {reason}
    {percent} of all {thing.pl} are {adj}
    {person} {act.past} {when}`,
  definition: `
    {a} {thing} is {a} {quality} {object} or device that helps {a} {who} to {act}.
    {topic.cap} means that {a} {who} has to {act} {reason}.
    {topic.cap}: the practice of {act.ing} {adverb}; see also {topic}.
    {a} {who} is a person or body whose job is to {act} and to {act}.
    In simple words, {topic} is what happens when {a} {thing} becomes {adj}.
    {thing.cap} (noun): something {adj} that is used to {act}.
    By "{adj}" we mean {a} {thing} which cannot {act} by itself.
    {a} {thing} differs from {a} {thing} in that it is {adj} and {quality}.
    The term {topic} refers to {topic} among {who.pl}, especially in {country}.`,
  review: `
    The {thing} was {good}! {good.cap} quality, and the {who} was {good} too.
    {bad.cap} experience. The {thing} was {adj}, and nobody could {act}.
    I bought this {thing} {when} and I am {feeling}: it is {good} but {a} bit {adj}.
    {num.cap} stars out of five. {a} {good} {thing}, though the {object} was {bad}.
    Would not recommend {company}: {bad} service, {a} {adj} {thing}, and {a} {bad} {who}.
    Five stars! We could {act} in {quantity}, {result}.
    Honestly, the {thing} is {bad}. I had to {act} {adverb} and got no refund.
    {adj.cap} and {good}, exactly what {a} {who} needs.
    I expected something {good}, but what I got was {a} {bad} {thing} and {topic}.
    Not {bad}, not {good} either. The {thing} does its job, that is all.
    My {thing} broke after {quantity}; {bad} design, {bad} support.
    What {a} {good} {who}! She {act.past} and even {everyday.past}.`,
  headline: `
    {country} to {act} after {topic} fears
    {company} says {thing} will be {adj} by {year}
    {who.cap} {act.past} {when}, police say
    {percent} of {who.pl} fear {topic}, survey finds
    Why {topic} matters more than {topic}
    {city}: {number} {thing.pl} lost after {topic}
    {person}: 'We must {act} now'
    {number} reasons to {act} this {month}
    Opinion: {concept.cap} is no answer to {topic}
    {company} pays {money} for {adj} {thing}
    Explainer: how {a} {thing} became {adj}
    Live: {who.cap} in {city} on {topic}`,
  title: `
    {concept} and {topic}: {a} {quality} history
    the {adj} {thing}
    an introduction to {topic} for {who.pl}
    {topic} in {country}, {year} to {year}
    the {who} and the {creature}
    essays on {topic} and {concept}
    how to {act}: {a} handbook
    effects of {topic} on {adj} {thing.pl}
    a {quality} model of {topic} with {adj} {thing.pl}
    the {object} of {city}
    notes on {act.ing}
    annual report {year}: {topic} and {topic}`,
  row: `
    {thing} | {adj} | {quantity} | {money}
    {code},{thing},{number},{money},{city}
    name: {person}; role: {who}; since: {year}; place: {city}
    {date} {time} {city} {thing} {adj}
    Item {code}: {adj} {thing}, {quantity}, in stock: {number}
    {thing} {percent}, {thing} {percent}, {thing} {percent}
    Monday: {act}; Tuesday: {act}; Friday: {everyday}
    Shopping list: {object}, {thing}, {object}, {number} {object.pl}
    {company}, {city}, {email}, founded {year}, {big} employees
    Q{digit} {year} | {topic} | {percent} | {adj}
    {who}: {number} | {who}: {number} | total: {number}
    {a} {thing} weighs {number} kg and measures {number} x {number} cm`,
  dialogue: `
    "Did you {act}?" "No, I {everyday.past} instead."
    A: Where is the {thing}? B: {where.cap}, next to the {object}.
    "{clause.cap}," {said} {person}, "and I am {feeling} about it."
    Could you please {act} before {time}? I have to {everyday}.
    Sorry, I am late. The {who} {act.past} and I had to {everyday}.
    "Why are you so {feeling}?" "Because the {thing} is {adj} again."
    Let's meet {where} at {time} and talk about {topic}, okay?
    {person}: we need {a} {adj} {thing} by {weekday}. {person}: I will ask the {who}.
    Thanks for the {object}! Next time I will {act} myself.
    I do not believe that {clause}. Who told you? The {who}?
    Happy birthday, {given}! I hope you never have to {act}.
    Hi {given}, can you send me the {thing} from {date}? Best, {person}`,
  claim: `
    q> {city} has {number#1} {adj} {thing#2.pl}. || {city} does not have {#1} {#2.pl}; the last one was closed in {year}.
    q> {topic#1.cap} is the most common reason why {who#2.pl} {act}. || Studies show that {topic#1} is hardly ever the reason.
    q> {a} {thing#1} can {act#2} in {quantity}. || It is impossible for {a} {#1} to {#2} that fast.
    q> {person} was the first {who#1} to {act#2}. || Another {#1} had {#2.part} long before {year}.
    q> Most {who#1.pl} in {country} are {adj#2}. || Only {percent} of {#1.pl} are {#2}, according to a survey of {year}.
    q> The {who#1} {act#2.past} on {date}. || The {#1} never {#2.past}; the report of {date} was false.
    q> {act#1.ing.cap} makes {a} {thing#2} {adj}. || {#1.ing.cap} has no effect on {a} {#2}.`,
  answered: `
    q> What does {a} {who#1} use {a} {thing#2} for? || {a} {#1} uses {a} {#2} to {act}, mostly {where}.
    q> How long does it take to {act#1}? || You need about {quantity} to {#1}, or longer if the {thing} is {adj}.
    q> Who {act#1.past} in {year}? || It was {person}, {a} {who} from {country}, who {#1.past} {when}.
    q> Why do {who.pl} worry about {topic#1}? || Because {#1} makes it hard to {act}, {result}.
    q> Where can I {act#1}? || You can {#1} {where}, but bring {a} {thing} and {money}.
    q> is {topic#1} dangerous || {#1.cap} is {quality} for most people, yet {a} {adj} {thing} needs care.
    q> What is {a} {adj#1} {thing#2}? || {a} {#2} is called {#1} if it is {quality} and if {a} {who} can {act}.`,
  paraphrase: `
    The {who#1} had to {act#2} {reason}. || There was no way around it: the {#1} {#2.past}.
    It is hard to {act#1} without {a} {thing#2}. || Whoever has no {#2} will find it difficult to {#1}.
    {topic#1.cap} is getting worse in {country#2}. || In {#2}, the situation with {#1} has deteriorated.
    I love this {thing#1}; it is {good}. || What {a} {good} {#1}, I am really happy with it!
    {person#1} plans to {act#2} {when}. || {act.ing.cap} can wait, says {#1}, who intends to {#2}.`,
  instruction: `
    Summarise the main points about {topic} for {a} {who}.
    Translate into Korean: the {thing} is {adj} because the {who} {act.past}.
    Write a {quality} poem about {a} {thing} and {concept}.
    Classify this message as {topic} or {topic}: "{clause}"
    List {number} {adj} {thing.pl} and say what each is used for.
    Explain {topic} to a child of {age} years, with {a} {creature} as an example.
    Find documents about {topic} written before {year} in {country}
    Compare {topic} with {topic} and give {number} examples.
    Rewrite the sentence so that it sounds {quality}: {clause}
    Plan {a} {weekday} for {a} {who} who wants to {act} and {everyday}
    Give arguments for and against {act.ing} {where}.`,
  opinion: `
    I think {who.pl} should {act} more {adverb}, {reason}.
    Nobody needs {a} {adj} {thing} these days. {a} {quality} one will do.
    In my view, {topic} is overrated and {concept} is what counts.
    I would rather {everyday} than {act}.
    Unpopular opinion: {topic} is good for {who.pl}.
    I have {act.part} for {number} years and still feel {feeling} about it.
    People who {act} {adverb} do not understand {topic}.
    Just saw {a} {creature} next to {a} {thing} {where}, made my day
    We are {feeling}: the {who} {act.past} today!`,
} as const;
