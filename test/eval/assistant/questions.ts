/** Question about the manual, and a pattern that only the passage with its answer has. */
export interface Question {
  readonly text: string;
  readonly answer: RegExp;
}

export const QUESTIONS: readonly Question[] = [
  {
    text: 'After I removed a whole package from the registry, when may I publish it again?',
    answer: /24 hours have passed/,
  },
  { text: 'How can I switch off the debug log files completely?', answer: /turn off logs completely set --logs-max=0/ },
  { text: 'Where are cache files stored on Windows?', answer: /%LocalAppData%[\\/]npm-cache/ },
  { text: 'Which environment variable tells a script the directory in which npm was started?', answer: /INIT_CWD/ },
  {
    text: 'Why do scripts for the uninstall of a package no longer run?',
    answer: /uninstall lifecycle scripts are not implemented/,
  },
  {
    text: 'What does npm start do if the package has a server.js file and no start script?',
    answer: /default the start command to node server\.js/,
  },
  {
    text: 'How do I query only dependencies with a vulnerability of high severity?',
    answer: /:vuln\(\[severity=high\]\)/,
  },
  { text: 'How long may the name of a package be?', answer: /less than or equal to 214 characters/ },
  { text: 'Why can v1.4 not be used as a distribution tag?', answer: /interpreted by semver as/ },
  { text: 'Are man pages installed on Windows systems?', answer: /Man pages are not installed on Windows/ },
  { text: 'How many lines of context does npm diff print by default?', answer: /diff-unified.{0,40}Default: 3/ },
  { text: 'What should I do if npm doctor finds corrupt packages in the cache?', answer: /npm cache clean -f/ },
  {
    text: 'Which files does a package always contain, whatever its settings are?',
    answer: /always included, regardless of settings/,
  },
  { text: 'How do I install a package under another name of my own?', answer: /<alias>@npm:<name>/ },
  { text: 'Which npm versions use lockfile version 1?', answer: /lockfile version used by npm v5 and v6/ },
  { text: 'How do I undo the deprecation of a package?', answer: /specify an empty string \(""\) for the message/ },
  { text: 'Does clearing the cache need --force, and why?', answer: /clean now requires --force/ },
  {
    text: 'Are overrides in an installed dependency taken into account?',
    answer: /Overrides are only considered in the root package\.json/,
  },
  { text: 'What happens to a binding.gyp file when a package has no install script?', answer: /node-gyp rebuild/ },
  { text: 'What is the longest time that npm waits for an HTTP request?', answer: /300000 \(5 minutes\)/ },
];
