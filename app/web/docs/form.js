/* The form that tries an operation and shows the reply. */
import { bounds, example, typeOf } from './spec.js';
import { build, curl, pretty, send } from './try.js';
import { element } from './dom.js';

const SHOWN_MAX = 200000; /* characters; the rest can be saved */
const last = {}; /* the last value of each parameter, in any form */

function control(p) {
  const choices = p.schema.type === 'boolean' ? ['true', 'false']
    : p.schema.enum;
  if (!choices)
    return element('input', { name: p.name, autocomplete: 'off',
      spellcheck: 'false', value: last[p.name] || '',
      placeholder: p.schema.type === 'object' ? 'team=web zone=a'
        : String(p.schema.default ?? '') });
  const select = element('select', { name: p.name }, ...['', ...choices]
    .map(c => element('option', { value: c }, c)));
  select.value = choices.includes(last[p.name]) ? last[p.name] : '';
  return select;
}

function paramRow(p) {
  const input = control(p);
  input.setAttribute('aria-label', p.name);
  return element('tr', {},
    element('td', {}, element('code', {}, p.name), p.required
      ? element('span', { class: 'must', title: 'required' }, ' *') : ''),
    element('td', { class: 'kind' }, p.in),
    element('td', { class: 'kind' }, ...typeOf(p.schema)),
    element('td', {}, p.description || ''),
    element('td', { class: 'kind' }, bounds(p.schema)),
    element('td', {}, input));
}

function params(op) {
  /* The tenant has a separate field above all forms. */
  const shown = op.params.filter(p => p.name !== 'X-Tenant-ID');
  if (!shown.length) return [];
  return [element('h3', {}, 'Parameters'), element('div', { class: 'wide' },
    element('table', {}, element('thead', {}, element('tr', {},
      ...['Name', 'Where', 'Type', 'What it is', 'Bounds', 'Value'].map(h =>
        element('th', { scope: 'col' }, h)))),
    element('tbody', {}, ...shown.map(paramRow))))];
}

/* A file, or JSON to edit; both if an operation accepts both. */
function bodyOf(op) {
  const parts = [];
  if (op.uploads.length)
    parts.push(element('div', { class: 'row' },
      element('input', { type: 'file', name: '-file', 'aria-label': 'File' }),
      element('select', { name: '-type', 'aria-label': 'Content type' },
        ...op.uploads.map(u => u.type).reverse().map(t =>
          element('option', { value: t }, t)))));
  if (op.body)
    parts.push(element('textarea', { name: '-body', rows: '7',
      spellcheck: 'false', 'aria-label': 'Body' }, example(op.body)));
  return parts.length ? [element('h3', {}, 'Body'), ...parts] : [];
}

function read(op, form, who) {
  const values = {}, auth = { token: who.token.value.trim(),
    tenant: who.tenant.value.trim() };
  for (const p of op.params) {
    const field = form.elements[p.name];
    if (field) values[p.name] = last[p.name] = field.value;
  }
  const file = form.elements['-file'], text = form.elements['-body'];
  if (file && file.files.length)
    return build(op, values, file.files[0], form.elements['-type'].value,
      auth);
  return build(op, values, text ? text.value : null,
    text ? 'application/json' : '', auth);
}

/* Links of the reply to this server can be followed. */
function linked(text) {
  const own = location.origin + '/';
  return text.split(/("https?:\/\/[^"\s]+")/).map(piece => {
    const url = piece.slice(1, -1);
    return piece.startsWith('"' + own) && piece.endsWith('"')
      ? element('a', { href: url, target: '_blank', rel: 'noopener' }, piece)
      : piece;
  });
}

function saveButton(op, reply) {
  const b = element('button', { type: 'button' }, 'Save');
  const named = reply.headers.find(([name]) => name === 'content-disposition');
  const name = /filename="([^"/\\]+)"/.exec(named ? named[1] : '');
  b.addEventListener('click', () => {
    const url = URL.createObjectURL(reply.blob);
    element('a', { href: url, download: name ? name[1] : op.id }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  });
  return b;
}

function replyParts(op, reply) {
  const fine = reply.status < 300;
  const size = `${reply.blob.size.toLocaleString('en')} bytes`;
  const text = reply.text === null ? null : pretty(reply);
  return [
    element('p', {}, element('span', { class: fine ? 'fine' : 'wrong' },
      `${reply.status} ${reply.what}`), ` in ${reply.ms} ms, ${size} `,
    reply.blob.size ? saveButton(op, reply) : ''),
    element('dl', {}, ...reply.headers.map(([name, value]) =>
      element('div', {}, element('dt', {}, name + ':'),
        element('dd', {}, value)))),
    ...text ? [element('pre', { tabindex: '0' },
      ...linked(text.slice(0, SHOWN_MAX)))] : [],
    ...text && text.length > SHOWN_MAX
      ? [element('p', {}, 'The rest is in the file that Save makes.')] : [],
  ];
}

/* The next request is often about the capture that was just started. */
function remember(reply) {
  if (!reply.json || reply.status >= 300) return;
  const { id } = JSON.parse(reply.text);
  if (/^(sess|win)-/.test(id)) last.profileId = last.sessionId = id;
}

const wrong = e =>
  element('p', { class: 'wrong' }, `not sent: ${e.message}`);

export function form(op, who) {
  const out = element('div', { class: 'reply', role: 'status' });
  const button = element('button', { class: 'send' }, 'Send');
  const asCurl = element('button', { type: 'button' }, 'As curl');
  const f = element('form', { autocomplete: 'off', novalidate: '' },
    ...params(op), ...bodyOf(op),
    element('div', { class: 'row' }, button, asCurl), out);
  asCurl.addEventListener('click', () => {
    try {
      out.replaceChildren(element('pre', { tabindex: '0' },
        curl(read(op, f, who), location.origin)));
    } catch (e) {
      out.replaceChildren(wrong(e));
    }
  });
  f.addEventListener('submit', async e => {
    e.preventDefault();
    button.disabled = true;
    out.replaceChildren('Waiting …');
    try {
      const reply = await send(read(op, f, who));
      out.replaceChildren(...replyParts(op, reply));
      remember(reply);
    } catch (error) {
      out.replaceChildren(wrong(error));
    }
    button.disabled = false;
  });
  return f;
}
