/** Setup of every test file: modules that another test process has compiled are not compiled again. */
import { enableCompileCache } from 'node:module';

enableCompileCache();
