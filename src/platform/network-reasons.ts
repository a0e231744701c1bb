/** Reasons for a failed connection, by Node.js error code. They continue "X cannot be used: ". */
export const NETWORK_REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; does it run, and is the port right?',
  ECONNRESET: 'it closes the connection; is the port right, and does it speak TLS or not?',
  ENOTFOUND: 'this host name is unknown',
  EAI_AGAIN: 'this host name cannot be looked up right now',
  ENOENT: 'there is no such socket',
  EACCES: 'this socket may not be opened by this user',
  ETIMEDOUT: 'it does not answer',
  TimeoutError: 'it does not answer',
  EHOSTUNREACH: 'this host is unreachable',
  ENETUNREACH: 'this network is unreachable',
  EPROTO: 'it does not speak TLS; use http:// or redis:// if it has none',
};
