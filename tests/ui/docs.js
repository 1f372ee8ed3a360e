/* Uses the page of the API as a person does, with a server that answers. */
import { build, curl } from './try.js';
import { bounds, typeOf } from './spec.js';

const $ = id => document.getElementById(id);
const tests = [], test = (name, body) => tests.push([name, body]);
const service = 'docs-' + Math.random().toString(36).slice(2, 10);

function type(text) {
  $('search').value = text;
  $('search').dispatchEvent(new Event('input'));
}
const shown = () => [...document.querySelectorAll('details')]
  .filter(d => !d.closest('[hidden]')).map(d => d.id);

const toggled = d => new Promise(done =>
  d.addEventListener('toggle', done, { once: true }));

async function open(id) {
  const d = $(id);
  if (!d.open) {
    const event = toggled(d);
    d.open = true;
    await event;
  }
  return d;
}

/* Waits until a form has its reply. */
const replied = form => new Promise(done => {
  const out = form.querySelector('.reply');
  const look = () => {
    if (out.querySelector('.fine, .wrong')) done(out);
    else setTimeout(look, 10);
  };
  look();
});

async function send(id, values) {
  const form = (await open(id)).querySelector('form');
  for (const [name, value] of Object.entries(values))
    form.elements[name].value = value;
  form.requestSubmit();
  return replied(form);
}
const status = out => out.querySelector('.fine, .wrong').textContent;
const text = out => (out.querySelector('pre') || out).textContent;

function parameter(name, schema, where = 'query', required = false) {
  return { name, in: where, required, schema };
}
const operation = (path, params, open = false) =>
  ({ method: 'GET', path, params, open });
const NOBODY = { token: '', tenant: '' };

test('every_operation_is_there_once', async () => {
  const doc = await (await fetch('/openapi.json')).json();
  const ids = Object.values(doc.paths).flatMap(p => Object.values(p))
    .map(o => o.operationId);
  for (const id of [...ids, ...Object.keys(doc.components.schemas)])
    same(document.querySelectorAll(`details[id="${id}"]`).length, 1);
  same(document.querySelectorAll('.method').length, ids.length);
});
test('every_one_of_them_opens', async () => {
  for (const d of document.querySelectorAll('details')) {
    await open(d.id);
    same(d.querySelectorAll('.inside table, .inside form').length > 0, true);
  }
});
test('every_field_has_a_label', () => {
  for (const f of document.querySelectorAll('input, select, textarea'))
    same(!!(f.getAttribute('aria-label') || f.labels.length), true);
});
test('every_link_leads_somewhere', () => {
  for (const a of document.querySelectorAll('a[href^="#"]'))
    same(!!$(a.getAttribute('href').slice(1)), true);
});
test('nothing_is_wider_than_the_window', () => {
  same(document.documentElement.scrollWidth <= innerWidth, true);
});

test('a_search_finds_by_path_and_summary', () => {
  type('series trend');
  same(shown(), ['GetSeries']);
});
test('a_search_finds_by_a_field_of_the_body', () => {
  type('retentiondays');
  same(shown(), ['SetContinuous', 'ContinuousProfile']);
});
test('a_search_finds_errors', () => {
  type('UnknownBaseline');
  same(shown(), []);
  same($('errors').closest('section').hidden, false);
});
test('a_search_without_a_result_says_so', () => {
  type('<b>');
  same($('state').textContent, 'Nothing contains “<b>”.');
});
test('a_link_to_what_the_search_hides_ends_it', async () => {
  location.hash = '#GetHistory';
  await new Promise(done => addEventListener('hashchange', done,
    { once: true }));
  same($('search').value, '');
  same($('GetHistory').open && !$('GetHistory').closest('[hidden]'), true);
});
test('a_slash_goes_to_the_search', () => {
  document.body.dispatchEvent(new KeyboardEvent('keydown',
    { key: '/', bubbles: true, cancelable: true }));
  same(document.activeElement.id, 'search');
});

test('an_open_operation_needs_no_token', async () => {
  const out = await send('GetHealth', {});
  same(status(out), '200 OK');
  same(JSON.parse(text(out)).status, 'ok');
});
test('without_a_token_the_server_says_so', async () => {
  const out = await send('ListServices', {});
  same(status(out), '401 Unauthorized');
  same(/www-authenticate:Bearer/.test(out.textContent), true);
});
test('a_token_is_sent_and_kept_in_the_tab', async () => {
  $('token').value = TOKEN;
  $('token').dispatchEvent(new Event('input'));
  same(sessionStorage.getItem('stoker-token'), TOKEN);
  same(localStorage.length, 0);
  same(status(await send('ListServices', {})), '200 OK');
});
test('a_body_is_sent_as_it_stands', async () => {
  const out = await send('CreateService', { '-body': JSON.stringify({
    name: service, description: '<img src=x onerror=alert(1)>' }) });
  same(status(out), '201 Created');
  same(out.querySelectorAll('img').length, 0);
  same(JSON.parse(text(out)).description, '<img src=x onerror=alert(1)>');
});
test('a_body_that_is_no_json_is_an_error_of_the_api', async () => {
  const out = await send('CreateService', { '-body': '{"name":' });
  same(status(out), '400 Bad Request');
  same(JSON.parse(text(out)).error_code, 'InvalidJson');
});
test('what_is_missing_is_told_and_nothing_sent', async () => {
  const out = await send('GetService', { name: '' });
  same(status(out), 'not sent: name is missing');
});
test('a_file_is_uploaded', async () => {
  const form = (await open('CreateSession')).querySelector('form');
  const file = new DataTransfer();
  file.items.add(new File(['main;work 70\nmain;rest 30\n'], 'a.folded'));
  form.elements['-file'].files = file.files;
  const out = await send('CreateSession', { service, type: 'cpu',
    sampleRate: '100' });
  same(status(out), '201 Created');
  same(JSON.parse(text(out)).sampleCount, 100);
});
test('what_it_became_is_where_one_goes_on', async () => {
  const d = $('GetProfile'), again = toggled(d);
  d.querySelector('.inside').remove();
  d.open = false;
  await again;
  const form = (await open('GetProfile')).querySelector('form');
  same(/^sess-/.test(form.elements.profileId.value), true);
  const out = await send('GetProfile', {});
  same(status(out), '200 OK');
  const a = out.querySelector('a');
  same(new URL(a.href).origin, location.origin);
  same(a.rel, 'noopener');
});
test('a_file_that_comes_back_can_be_saved', async () => {
  const id = $('GetProfile').querySelector('form').elements.profileId.value;
  const out = await send('GetFlameGraph', { profileId: id, format: 'pprof' });
  same(status(out), '200 OK');
  same(out.querySelectorAll('pre').length, 0);
  same(out.querySelector('button').textContent, 'Save');
});
test('it_is_removed_again', async () => {
  same(status(await send('DeleteService', { name: service })),
    '204 No Content');
});

test('a_request_as_curl_keeps_the_token', async () => {
  const form = (await open('ListServices')).querySelector('form');
  form.querySelector('button[type=button]').click();
  const line = text(form.querySelector('.reply'));
  same(line.includes(TOKEN), false);
  same(line, `curl -H "Authorization: Bearer $TOKEN" ` +
    `'${location.origin}/api/v1/services'`);
});
test('a_quote_in_a_body_stays_one_word_of_curl', () => {
  const r = { method: 'POST', url: '/x', headers: {}, body: "it's" };
  same(curl(r, 'http://h'), `curl -X POST -d 'it'\\''s' 'http://h/x'`);
});
test('a_name_stays_one_segment_of_the_path', () => {
  const op = operation('/s/{name}/t', [parameter('name', {}, 'path', true)]);
  same(build(op, { name: 'a/b?c' }, null, '', NOBODY).url, '/s/a%2Fb%3Fc/t');
});
test('labels_become_one_parameter_each', () => {
  const op = operation('/s', [parameter('label', { type: 'object' })]);
  same(build(op, { label: 'team=web zone=a=b' }, null, '', NOBODY).url,
    '/s?label.team=web&label.zone=a%3Db');
});
test('an_open_operation_gets_no_token', () => {
  const op = operation('/healthz', [], true);
  same(build(op, {}, null, '', { token: 'x', tenant: 'y' }).headers, {});
});
test('bounds_and_types_are_told', () => {
  same(bounds({ type: 'integer', minimum: 1, maximum: 9, default: 3 }),
    '1 to 9; default 3');
  same(typeOf({ type: 'array', items: { $ref: '#/components/schemas/A' } }),
    ['list of ', { ref: 'A' }]);
  same(typeOf({ type: ['string', 'null'], format: 'date-time' }),
    ['time or null']);
});

test('no_script_runs_that_is_no_file_of_ours', () => {
  let ran = true;
  try {
    ran = (0, eval)('true');
  } catch (e) {
    ran = false;
  }
  same(ran, false);
  let parsed = true;
  try {
    $('about').innerHTML = '<b>x</b>';
  } catch (e) {
    parsed = false;
  }
  same(parsed, false);
});

/* Contrast of two colours. Source: WCAG 2.2, relative luminance. */
function contrast(a, b) {
  const light = c => c.match(/[0-9a-f]{2}/gi).map(h => parseInt(h, 16) / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0.05);
  const [x, y] = [light(a), light(b)];
  return Math.max(x, y) / Math.min(x, y);
}
test('every_text_can_be_read_in_both_themes', () => {
  const rules = [...document.styleSheets[0].cssRules];
  const roots = [rules[0], rules.find(r => r.media).cssRules[0]];
  for (const { style } of roots)
    for (const ink of ['ink', 'quiet', 'accent', 'bad', 'good', 'get', 'post',
      'put', 'delete'])
      for (const back of ['back', 'panel', 'raise']) {
        const [a, b] = [ink, back].map(n => style.getPropertyValue('--' + n));
        if (contrast(a, b) < 4.5) throw new Error(`${ink} on ${back}`);
      }
});

function report(line) {
  $('report').append(line + '\n');
}
addEventListener('message', e => report(e.data));
function whenReady() {
  if (document.documentElement.dataset.ready === undefined)
    setTimeout(whenReady, 10);
  else run(tests);
}
whenReady();
