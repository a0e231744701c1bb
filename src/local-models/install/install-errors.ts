import { AppError } from '../../platform/errors.ts';

/** Create an error 400: the source isn't a model that can run here. */
export function notAModel(message: string, code = 'model_invalid'): AppError {
  return new AppError({ code, status: 400, message });
}

/** Create an error 400: the source lacks a fact that affects the vectors, so a flag must supply it. */
export function needsFlag(fact: string, flag: string): AppError {
  return new AppError({
    code: 'model_setting_missing',
    status: 400,
    message: `the source does not specify ${fact}; set it with ${flag}`,
    details: { flag },
  });
}

/** Create an error 400: the source contains names or files that no model needs and that could harm this host. */
export function unsafeSource(message: string): AppError {
  return new AppError({ code: 'model_source_unsafe', status: 400, message });
}
