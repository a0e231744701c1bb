import { AppError } from '../platform/errors.ts';

/** Create an error 401: the request has no `Authorization: Bearer …`. */
export function missingCredentials(): AppError {
  return new AppError({
    code: 'missing_credentials',
    status: 401,
    message: 'send an API key or a user token in the header "Authorization: Bearer <key>"',
  });
}

/**
 * Create an error 401. It is the same for unknown, wrong, revoked and suspended credentials, so that probing reveals
 * nothing.
 */
export function invalidCredentials(): AppError {
  return new AppError({
    code: 'invalid_credentials',
    status: 401,
    message: 'this API key or token is not valid; check that you copied all of it, or ask for a new one',
  });
}

/**
 * Create an error 503 for a key of an organization that another installation serves, or that hasn't arrived here yet.
 * Use it only for a credential verified as genuine.
 */
export function organizationElsewhere(): AppError {
  return new AppError({
    code: 'organization_elsewhere',
    status: 503,
    message:
      'this installation does not serve the organization, which is moving or has moved to another installation; send the request again, to the address of that installation if it differs',
    retryable: true,
    retryAfterSeconds: 1,
  });
}

/** Create an error 401. It is the same for an unknown email address, a wrong password and a suspended user. */
export function wrongPassword(): AppError {
  return new AppError({
    code: 'invalid_credentials',
    status: 401,
    message: 'the email address or the password is wrong; check both, or ask an administrator for a reset link',
  });
}

/** Create an error 401 for an expired credential. Use it only for a credential verified as genuine. */
export function expiredCredentials(): AppError {
  return new AppError({
    code: 'expired_credentials',
    status: 401,
    message: 'this API key or token has expired; ask for a new one',
  });
}

/** Create an error 401. It is the same for an ended session and one that never existed. */
export function sessionEnded(): AppError {
  return new AppError({ code: 'session_ended', status: 401, message: 'your session has ended; sign in again' });
}
