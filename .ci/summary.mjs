// Prints each failed step and test, of a test with the beginning of its message, and last "N passed, N failed"; exits with 1
// if any failed. A file that could not be run counts as a failed test; so does a failed step, unless tests of it are listed.
// Arguments: JSON reports of vitest (https://vitest.dev/guide/reporters#json-reporter), "--", the names of the failed steps.
import { readFileSync } from 'node:fs';
import { basename, relative } from 'node:path';

const MESSAGE_LINES = 12;

const args = process.argv.slice(2);
const split = args.indexOf('--');
const failedSteps = new Set(args.slice(split + 1));
let passed = 0;
let failed = 0;
for (const report of args.slice(0, split)) {
  if (printFailedTests(report) > 0) failedSteps.delete(`npm run ${basename(report, '.json')}`);
}
for (const step of failedSteps) printFailure(step, 'what it printed is above');
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;

/** Prints the failed tests of a report, and returns their number. */
function printFailedTests(report) {
  const before = failed;
  for (const { name, message, assertionResults } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
    const file = relative(process.cwd(), name);
    for (const { status, fullName, failureMessages } of assertionResults) {
      if (status === 'passed') passed += 1;
      if (status === 'failed') printFailure(`${file}: ${fullName}`, failureMessages.join('\n'));
    }
    if (message) printFailure(file, message);
  }
  return failed - before;
}

function printFailure(title, message) {
  failed += 1;
  const beginning = message.split('\n').slice(0, MESSAGE_LINES);
  process.stdout.write(`failed: ${title}\n${beginning.map((line) => `  ${line}\n`).join('')}`);
}
