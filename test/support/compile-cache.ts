/** Setup of every test file: reuse modules compiled by other test processes. */
import { enableCompileCache } from 'node:module';

enableCompileCache();
