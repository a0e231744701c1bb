import { test } from 'vitest';
import { dovecotAvailable } from '../../support/dovecot.ts';
import { checkReader } from './conformance.ts';
import { openMailPlace } from './places/mail-place.ts';

if (dovecotAvailable()) checkReader('mailboxes', openMailPlace);
else test.skip('the reader of mailboxes needs Dovecot', () => {});
