/*
 * Pages in Firefox as Debian has it, driven by WebDriver BiDi:
 * w3c.github.io/webdriver-bidi.
 *
 *	URL, KEY, NPM		as in browser.mjs
 *	FIREFOX			the browser
 *	CAPTURE, THREADS	ids of a capture of CPU time and of one of threads
 *	UNTIL			the end of a minute of a large profile, in ms
 *	PICTURES		the folder for pictures, if they are wanted
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';

const { URL: BASE, KEY, NPM, FIREFOX, CAPTURE, THREADS, UNTIL, PICTURES } =
  process.env;
const AXE = readFileSync(createRequire(NPM + '/').resolve(
  'axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const SIZES = [[1280, 900], [390, 844]];
const PATIENCE_MS = 60e3;

/* --- the browser ------------------------------------------------------------ */

const home = mkdtempSync(tmpdir() + '/firefox-');
const browser = spawn(FIREFOX, ['--headless', '--no-remote', '--profile', home,
  '--remote-debugging-port', '0'], { stdio: ['ignore', 'ignore', 'pipe'],
  env: { ...process.env, HOME: home } });
const address = await new Promise((done, fail) => {
  let said = '';
  browser.stderr.on('data', bytes => {
    const [, url] = /listening on (ws:\S+)/.exec(said += bytes) ?? [];
    if (url) done(url + '/session');
  });
  browser.on('exit', () => fail(new Error('Firefox ended: ' + said)));
});
const socket = new WebSocket(address), asked = new Map(), complaints = [];
await new Promise((done, fail) => {
  socket.onopen = done;
  socket.onerror = fail;
});
socket.onmessage = ({ data }) => {
  const { id, type, result, message, params } = JSON.parse(data);
  if (params?.level === 'error') complaints.push(params.text);
  const [done, fail] = asked.get(id) ?? [];
  if (type === 'error') fail(new Error(message));
  else done?.(result);
};

let last = 0;
const tell = (method, params) => new Promise((done, fail) => {
  asked.set(++last, [done, fail]);
  socket.send(JSON.stringify({ id: last, method, params }));
});

await tell('session.new', { capabilities: {} });
await tell('session.subscribe', { events: ['log.entryAdded'] });
const { contexts: [{ context }] } = await tell('browsingContext.getTree', {});

/* The value of an expression in the page, which may be a promise. */
async function evaluate(expression) {
  const { result, exceptionDetails } = await tell('script.evaluate', {
    expression: `(async () => JSON.stringify(await (${expression})))()`,
    awaitPromise: true, target: { context } });
  if (exceptionDetails) throw new Error(exceptionDetails.text);
  return result.value === undefined ? undefined : JSON.parse(result.value);
}

const seen = expression => evaluate(`new Promise((done, fail) => {
  const from = performance.now(), look = () => {
    if (${expression}) done(true);
    else if (performance.now() - from > ${PATIENCE_MS})
      fail(new Error('it was not seen: ' + ${JSON.stringify(expression)}));
    else setTimeout(look, 50);
  };
  look();
})`);
const there = selector =>
  seen(`document.querySelector(${JSON.stringify(selector)})`);
const open = path => tell('browsingContext.navigate', { context,
  url: BASE + path, wait: 'complete' });
const resize = (width, height) => tell('browsingContext.setViewport',
  { context, viewport: { width, height } });
const press = key => evaluate(`void document.dispatchEvent(new KeyboardEvent(
  'keydown', { key: ${JSON.stringify(key)}, bubbles: true, cancelable: true }))`);

async function signIn() {
  const reply = await fetch(BASE + '/api/v1/browser-session',
    { method: 'POST', headers: { Authorization: `Bearer ${KEY}` } });
  const [, name, value] = /^([^=]+)=([^;]+)/.exec(
    reply.headers.getSetCookie()[0]);
  await tell('storage.setCookie', { cookie: { name, path: '/',
    value: { type: 'string', value }, domain: new URL(BASE).hostname } });
}

function same(got, want) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)];
  if (g !== w) throw new Error(`${g}, expected ${w}`);
}

/* --- tests ------------------------------------------------------------------ */

const GRAPH = '[part=rows] tr';
const PAGES = {
  services: ['/ui/services', 'tbody tr'],
  a_service: ['/ui/s/demo?type=cpu&from=now-5m', '.chart'],
  settings: ['/ui/s/demo/settings', 'h2'],
  a_capture: [`/ui/p/${CAPTURE}`, GRAPH],
  a_sandwich: [`/ui/p/${CAPTURE}#view=sandwich&fn=server::work`, GRAPH],
  a_heat_map: [`/ui/p/${CAPTURE}/heat?sel=500-1500`, GRAPH],
  stacks: [`/ui/p/${THREADS}/threads`, 'tbody tr'],
  a_comparison: [`/ui/compare?a=${CAPTURE}.0-1000&b=${CAPTURE}.1000-2000`,
    '[part=verdict] strong'],
  upload: ['/ui/upload', 'input'],
  system: ['/ui/system', 'tbody tr'],
  audit: ['/ui/audit', 'tbody tr'],
};

const tests = {};
for (const [name, [path, selector]] of Object.entries(PAGES))
  tests[`${name}_is_quiet_fits_and_has_no_violation`] = async () => {
    complaints.length = 0;
    await resize(...SIZES[0]);
    await open(path);
    await there(selector);
    await seen("!document.querySelector('.skeleton')");
    await tell('script.evaluate', { expression: AXE, awaitPromise: false,
      target: { context } });
    for (const [width, height] of SIZES) {
      await resize(width, height);
      same(await evaluate(`axe.run(document, { runOnly: ${
        JSON.stringify(RULES)} }).then(({ violations }) => violations.map(v =>
        v.id + ': ' + v.nodes.map(n => n.target.join(' ')).join(', ')))`), []);
      same(await evaluate(
        'document.documentElement.scrollWidth <= innerWidth'), true);
    }
    same(complaints, []);
    if (!PICTURES) return;
    const { data } = await tell('browsingContext.captureScreenshot',
      { context });
    writeFileSync(`${PICTURES}/firefox-${name}.png`, data, 'base64');
  };
tests.a_worker_thread_makes_other_trees_of_a_large_profile = async () => {
  complaints.length = 0;
  await resize(...SIZES[0]);
  await open(`/ui/s/large?type=cpu&from=${UNTIL - 60e3}&to=${UNTIL}`);
  await there(GRAPH);
  await press('b');
  await there('[part=bottomup][aria-pressed=true]');
  await seen("!document.querySelector('.panes[aria-busy]')");
  same(complaints, []);
};

try {
  await signIn();
  for (const [name, body] of Object.entries(tests))
    await body().then(() => console.log(`ok ${name}`), e =>
      console.log(`not ok ${name}: ${e.message}`.replace(/\s+/g, ' ')));
} finally {
  browser.removeAllListeners('exit');
  const ended = new Promise(done => browser.on('exit', done));
  socket.close();
  browser.kill();
  await ended;
  rmSync(home, { recursive: true, force: true });
}
