// Browser script of the page /docs. It shows /openapi.json with Swagger UI, from this origin only.

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
  // Don't send anything to another origin.
  validatorUrl: null,
  persistAuthorization: false,
  async requestInterceptor(request) {
    const isRead = request.method === undefined || request.method === 'GET';
    if (isRead || request.headers?.Authorization) return request;
    // Without a key, the request uses the console's session, if there is one.
    if (csrfToken === null) await readCsrfToken();
    if (csrfToken !== null) request.headers['X-CSRF-Token'] = csrfToken;
    return request;
  },
});
