import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { AppError } from '../../platform/errors.ts';

const FILES: Partial<Record<NodeJS.Platform, string>> = { linux: 'libonnxruntime.so', darwin: 'libonnxruntime.dylib' };

/**
 * Find the ONNX Runtime library for this platform: the configured one, else the one installed by npm.
 *
 * @throws AppError `model_runtime_missing` (503)
 */
export function findLibrary(configured: string | null): string {
  if (configured !== null) {
    if (existsSync(configured)) return configured;
    throw missing(`local_models.runtime_library names ${configured}, which does not exist`);
  }
  const file = FILES[process.platform];
  const name = `sherpa-onnx-${process.platform}-${process.arch}`;
  if (file !== undefined) {
    try {
      const folder = path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
      const library = path.join(folder, file);
      if (existsSync(library)) return library;
    } catch {
      // Report this below, like a package without the file.
    }
  }
  throw missing(
    `the library of ONNX Runtime is not installed for ${process.platform} ${process.arch} (package ${name}); run npm ci without --omit=optional, or name a library with local_models.runtime_library`,
  );
}

function missing(why: string): AppError {
  return new AppError({ code: 'model_runtime_missing', status: 503, message: `local models cannot run: ${why}` });
}
