import { AppError } from '../platform/errors.ts';

/** 401: no `Authorization: Bearer …` came with the request. */
export function missingCredentials(): AppError {
  return new AppError({
    code: 'missing_credentials',
    status: 401,
    message: 'send an API key or a user token in the header "Authorization: Bearer <key>"',
  });
}

/** 401, the same for unknown, wrong, revoked and suspended, so that nothing can be probed. */
export function invalidCredentials(): AppError {
  return new AppError({
    code: 'invalid_credentials',
    status: 401,
    message: 'this API key or token is not accepted; check that it was copied whole, or ask for a new one',
  });
}

/** 401, only for a credential that was proven to be genuine. */
export function expiredCredentials(): AppError {
  return new AppError({
    code: 'expired_credentials',
    status: 401,
    message: 'this API key or token has expired; ask for a new one',
  });
}
