/* The page: groups of operations, schemas, errors, and a search over all. */
import { bounds, groups, matches, replies, textsOf, typeOf }
  from './spec.js';
import { form } from './form.js';
import { element, link } from './dom.js';

const $ = id => document.getElementById(id);
const entries = []; /* entries that a search shows or hides */

function typeCell(schema) {
  return element('td', { class: 'kind' }, ...typeOf(schema).map(piece =>
    piece.ref ? link('#' + piece.ref, piece.ref) : piece));
}

function table(heads, rows) {
  return element('div', { class: 'wide' }, element('table', {},
    element('thead', {}, element('tr', {}, ...heads.map(h =>
      element('th', { scope: 'col' }, h)))),
    element('tbody', {}, ...rows)));
}

function fieldRow(name, schema, must) {
  return element('tr', {},
    element('td', {}, element('code', {}, name),
      must ? element('span', { class: 'must', title: 'required' }, ' *') : ''),
    typeCell(schema),
    element('td', {}, schema.description || ''),
    element('td', { class: 'kind' }, bounds(schema)));
}

function replyRow(r) {
  const what = r.schema ? typeCell(r.schema)
    : element('td', { class: 'kind' }, r.formats.length ? 'file' : 'nothing');
  return element('tr', {}, element('td', {}, element('code', {}, r.status)),
    what, element('td', {}, r.doc,
      r.formats.length ? element('div', {}, r.formats.join(', ')) : ''));
}

/* A folded entry whose contents are made when it is first opened. */
function folded(id, summary, inside, texts) {
  const d = element('details', { id }, element('summary', {}, ...summary));
  d.addEventListener('toggle', () => {
    if (d.open && !d.querySelector('.inside'))
      d.append(element('div', { class: 'inside' }, ...inside()));
  });
  entries.push({ element: d, texts });
  return d;
}

function operationEntry(doc, op) {
  const role = op.open ? 'no token' : `${op.role || 'viewer'}${op.link ? ' or link' : ''}`;
  const inside = () => [
    form(op, { token: $('token'), tenant: $('tenant') }),
    ...op.body?.properties ? [element('h3', {}, 'Fields of the body'),
      table(['Field', 'Type', 'What it is', 'Bounds'],
        Object.entries(op.body.properties).map(([name, schema]) =>
          fieldRow(name, schema, (op.body.required || []).includes(name))))]
      : [],
    element('h3', {}, 'Replies'),
    table(['Status', 'Holds', 'When'], replies(doc, op).map(replyRow)),
  ];
  return folded(op.id, [
    element('span', { class: 'method ' + op.method }, op.method),
    element('span', { class: 'path' }, op.path),
    element('span', { class: 'what' }, op.summary),
    element('span', { class: 'role' }, role)], inside, textsOf(doc, op));
}

function schemaEntry(name, schema) {
  const inside = () => [table(['Field', 'Type', 'What it is', 'Bounds'],
    Object.entries(schema.properties).map(([field, of]) =>
      fieldRow(field, of)))];
  return folded(name, [element('code', {}, name),
    element('span', { class: 'what' }, schema.description || '')], inside,
    [name, schema.description || '', ...Object.keys(schema.properties)]);
}

function errorsTable(errors) {
  const rows = Object.entries(errors).sort(([a, x], [b, y]) =>
    x - y || (a < b ? -1 : 1)).map(([code, status]) => {
    const row = element('tr', {}, element('td', {}, element('code', {}, code)),
      element('td', { class: 'kind' }, String(status)));
    entries.push({ element: row, texts: [code, String(status), 'error'] });
    return row;
  });
  return table(['error_code', 'Status'], rows);
}

function section(id, title, doc, content) {
  $('groups').append(element('a', { href: '#' + id }, title, ' ',
    element('span', {}, String(content.length || ''))));
  return element('section', {}, element('h2', { id }, title),
    element('p', {}, doc), ...[].concat(content));
}

function show(doc) {
  $('version').textContent = doc.info.version;
  $('about').replaceChildren('Open an operation, fill it in and send it: it ' +
    'goes to this server, with the rights of your browser session or of the ' +
    `token above. ${doc.info.description} `,
  link('../openapi.json', 'openapi.json'));
  $('content').replaceChildren(
    ...groups(doc).map(g => section('group-' + g.name.toLowerCase(), g.name,
      g.doc, g.operations.map(op => operationEntry(doc, op)))),
    section('schemas', 'Schemas', 'What replies hold.',
      Object.entries(doc.components.schemas).map(([name, schema]) =>
        schemaEntry(name, schema))),
    section('errors', 'Errors', 'Every error_code, and its status.',
      errorsTable(doc['x-errors'] || {})));
  $('state').hidden = true;
}

function search() {
  const query = $('search').value.trim();
  let found = 0;
  for (const e of entries) {
    e.element.hidden = query !== '' && !matches(query, e.texts);
    found += !e.element.hidden;
  }
  for (const s of $('content').children)
    s.hidden = !entries.some(e => !e.element.hidden && s.contains(e.element));
  $('state').hidden = query === '' || found > 0;
  $('state').textContent = `Nothing contains “${query}”.`;
}

/* Opens the part that the address names. */
function follow() {
  const at = $(decodeURIComponent(location.hash.slice(1)));
  if (!at) return;
  if (at.tagName === 'DETAILS') at.open = true;
  if (at.closest('[hidden]')) {
    $('search').value = '';
    search();
  }
  at.scrollIntoView();
}

/* The token survives a reload of this tab, but nothing else. */
function keep(id) {
  try {
    $(id).value = sessionStorage.getItem('stoker-' + id) || '';
    $(id).addEventListener('input', () =>
      sessionStorage.setItem('stoker-' + id, $(id).value));
  } catch (e) {
    /* the browser stores nothing */
  }
}

function onKey(e) {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
  if (e.key === '/' && !typing && !e.ctrlKey && !e.metaKey) {
    e.preventDefault();
    $('search').focus();
  }
}

async function start() {
  keep('token');
  keep('tenant');
  $('search').addEventListener('input', search);
  $('who').addEventListener('submit', e => e.preventDefault());
  addEventListener('hashchange', follow);
  addEventListener('keydown', onKey);
  const got = await fetch('../openapi.json', { credentials: 'omit' });
  if (!got.ok) throw new Error(`status ${got.status}`);
  show(await got.json());
  follow();
  document.documentElement.dataset.ready = '';
}

start().catch(e => {
  $('state').textContent = `openapi.json can't be read: ${e.message}`;
});
