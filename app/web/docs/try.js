/*
 * Turns a form into a request for fetch() or a command of curl, and reads the
 * reply. The token goes to this page's own server only; without one, the cookie
 * of a browser that is signed in goes there.
 */

/* name=value pairs of a parameter; label accepts `team=web zone=a`. */
function pairs(p, text) {
  if (p.schema.type !== 'object') return [[p.name, text]];
  return text.trim().split(/[\s,]+/).map(word => {
    const at = word.indexOf('=');
    if (at < 1) throw new Error(`${p.name} takes KEY=VALUE, not ${word}`);
    return [`${p.name}.${word.slice(0, at)}`, word.slice(at + 1)];
  });
}

/*
 * values: texts by parameter; "" is absent. body: text, file or null.
 * Throws an Error that says what is wrong with them.
 */
export function build(op, values, body, type, auth) {
  const query = new URLSearchParams(), headers = {};
  let path = op.path;
  for (const p of op.params) {
    const text = values[p.name] ?? '';
    if (text === '' && !p.required) continue;
    if (text === '') throw new Error(`${p.name} is missing`);
    if (p.in === 'path')
      path = path.replace(`{${p.name}}`, encodeURIComponent(text));
    else if (p.in === 'header') headers[p.name] = text;
    else for (const [k, v] of pairs(p, text)) query.append(k, v);
  }
  if (auth.token && !op.open) headers.Authorization = `Bearer ${auth.token}`;
  if (auth.tenant && !op.open) headers['X-Tenant-ID'] = auth.tenant;
  if (body !== null && type) headers['Content-Type'] = type;
  const all = query.toString();
  return { method: op.method, url: path + (all ? '?' + all : ''), headers,
    body };
}

const quoted = s => `'${s.replace(/'/g, `'\\''`)}'`;

/* The token is left out, since users may paste the text into a chat. */
export function curl(r, origin) {
  const words = ['curl'];
  if (r.method !== 'GET') words.push('-X', r.method);
  for (const [name, value] of Object.entries(r.headers))
    words.push('-H', name === 'Authorization'
      ? '"Authorization: Bearer $TOKEN"' : quoted(`${name}: ${value}`));
  if (typeof r.body === 'string') words.push('-d', quoted(r.body));
  else if (r.body) words.push('--data-binary', quoted('@' + r.body.name));
  return words.concat(quoted(origin + r.url)).join(' ');
}

const TOLD = ['content-type', 'location', 'retry-after', 'allow', 'etag',
  'content-disposition', 'www-authenticate', 'x-request-id'];

/* The status, the duration, headers worth showing, and the body. */
export async function send(r, signal) {
  const start = performance.now();
  const got = await fetch(r.url, { method: r.method, headers: r.headers,
    body: r.body ?? undefined,
    credentials: r.headers.Authorization ? 'omit' : 'same-origin', cache: 'no-store',
    referrerPolicy: 'no-referrer', redirect: 'error', signal });
  const blob = await got.blob();
  const type = got.headers.get('content-type') || '';
  const isText = /^text\/|json|xml/.test(type);
  return {
    status: got.status, what: got.statusText, blob,
    ms: Math.round(performance.now() - start),
    headers: TOLD.map(name => [name, got.headers.get(name)])
      .filter(([, value]) => value),
    text: isText ? await blob.text() : null,
    json: /json/.test(type),
  };
}

/* JSON with line breaks; texts that are not JSON are unchanged. */
export function pretty(reply) {
  if (!reply.json) return reply.text;
  try {
    return JSON.stringify(JSON.parse(reply.text), null, 2);
  } catch (e) {
    return reply.text;
  }
}
