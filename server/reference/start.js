// Script of the page /docs, which runs in browsers: it shows /openapi.json with Swagger UI, from this origin alone.

/** CSRF token of the session of this browser; null until a request needs it, and without a session. */
let csrfToken = null;

async function readCsrfToken() {
  const answer = await fetch('/v1/sessions/current');
  csrfToken = answer.ok ? (await answer.json()).csrf_token : null;
}

window.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  tryItOutEnabled: true,
  // Nothing is sent to any other origin.
  validatorUrl: null,
  persistAuthorization: false,
  async requestInterceptor(request) {
    const isRead = request.method === undefined || request.method === 'GET';
    if (isRead || request.headers?.Authorization) return request;
    // Without a key the request acts for the session of the console, if there is one.
    if (csrfToken === null) await readCsrfToken();
    if (csrfToken !== null) request.headers['X-CSRF-Token'] = csrfToken;
    return request;
  },
});
