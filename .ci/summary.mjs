// Prints each failed test with the beginning of its message, and last "N passed, N failed". A file that could not be run
// counts as a failed test. Arguments: JSON reports of vitest (https://vitest.dev/guide/reporters#json-reporter).
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const MESSAGE_LINES = 12;

const reports = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));
let passed = 0;
let failed = 0;
for (const { name, message, assertionResults } of reports.flatMap((report) => report.testResults)) {
  const file = relative(process.cwd(), name);
  for (const { status, fullName, failureMessages } of assertionResults) {
    if (status === 'passed') passed += 1;
    if (status === 'failed') printFailure(`${file}: ${fullName}`, failureMessages.join('\n'));
  }
  if (message) printFailure(file, message);
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);

function printFailure(title, message) {
  failed += 1;
  const beginning = message.split('\n').slice(0, MESSAGE_LINES);
  process.stdout.write(`failed: ${title}\n${beginning.map((line) => `  ${line}\n`).join('')}`);
}
