/*
 * How long the web application takes, in Chromium: a line "NAME VALUE" for each
 * figure. Times end when the browser has painted.
 *
 *	ui.mjs first			what the first page takes
 *	ui.mjs flame ID			the profile ID, and the same in speedscope
 *	ui.mjs large ID			the profile ID, of two million nodes
 *	ui.mjs range END SERVICE...	ranges of a month that ends at END, ms
 *
 *	URL, KEY	of the server, and an API key of an administrator
 *	BROWSER, NPM	the browser, and the folder with the packages
 *	ROUNDS		how often each is taken
 */
import { createRequire } from 'node:module';

const { URL: BASE, KEY, BROWSER, NPM, ROUNDS = 5 } = process.env;
const [what, ...args] = process.argv.slice(2);
const { chromium } = createRequire(NPM + '/')('playwright-core');
const browser = await chromium.launch({ executablePath: BROWSER,
  args: ['--no-sandbox', '--enable-unsafe-swiftshader', '--disable-quic',
    '--disable-component-update', '--disable-background-networking'] });
const DAY_MS = 86400e3, WAIT_MS = 120e3;

const median = list => {
  const v = list.toSorted((a, b) => a - b), n = v.length;
  return n % 2 ? v[(n - 1) / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
};
const tell = (name, list) => console.log(name, median(list).toFixed(1));
const rounds = async (n, body) => {
  const list = [];
  for (let i = 0; i < n; i++) list.push(await body(i));
  return list;
};

/* A browser with an empty cache, in which somebody is signed in. */
async function fresh() {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  await page.goto(BASE + '/ui/services');
  await page.getByLabel('API key or JWT').fill(KEY);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Services' }).waitFor();
  const cookies = await context.cookies();
  await context.close();
  const again = await browser.newContext({
    viewport: { width: 1280, height: 800 } });
  again.setDefaultTimeout(WAIT_MS);
  await again.addCookies(cookies);
  return again;
}

/* --- the first page -------------------------------------------------------- */

const paint = page => page.evaluate(() => new Promise(resolve => {
  const seen = () => performance.getEntriesByName('first-contentful-paint')[0];
  const look = () => seen() ? resolve(seen().startTime)
    : requestAnimationFrame(look);
  look();
}));

async function first() {
  const cold = [], warm = [];
  let kb = 0;
  for (let i = 0; i < ROUNDS; i++) {
    const context = await fresh(), page = await context.newPage();
    for (const list of [cold, warm]) {
      await page.goto(BASE + '/ui/services');
      await page.getByRole('heading', { name: 'Services' }).waitFor();
      list.push(await paint(page));
      if (list === cold)
        kb = await page.evaluate(() => [...performance.getEntriesByType(
          'resource'), ...performance.getEntriesByType('navigation')]
          .filter(e => !e.name.includes('/api/'))
          .reduce((sum, e) => sum + e.encodedBodySize, 0)) / 1024;
    }
    await context.close();
  }
  tell('bundle_kb', [kb]);
  tell('first_paint_cold_ms', cold);
  tell('first_paint_warm_ms', warm);
}

/* --- one large profile, beside speedscope ---------------------------------- */

/* Measures from the last byte of the reply to the frame that shows it. */
const whenPainted = (context, isThere, from) => context.addInitScript(
  `{ const isThere = ${isThere}, from = ${JSON.stringify(from)};
    const look = () => {
      if (!isThere()) return requestAnimationFrame(look);
      requestAnimationFrame(() => setTimeout(() => {
        const entry = performance.getEntriesByType('resource')
          .find(e => e.name.includes(from));
        window.painted = performance.now() - entry.responseEnd;
      }));
    };
    requestAnimationFrame(look); }`);

const painted = page => page.waitForFunction(() => window.painted)
  .then(v => v.jsonValue());

/* Times act() in the page ten times, each until the next frame after a worker
 * thread has finished, too. */
const acts = (page, act) => page.evaluate(`(async () => {
  const act = ${act}, list = [];
  for (let i = 0; i < 10; i++) {
    await new Promise(done => setTimeout(done, 200));
    const from = performance.now();
    act(i);
    do {
      await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    } while (document.querySelector('.panes[aria-busy]'));
    list.push(performance.now() - from);
  }
  return list;
})()`);

/* Zooms into a bar and, at each second call, out again. */
const zoom = `i => {
  if (i % 2) return document.querySelector('[part=reset]').click();
  const canvas = document.querySelector('[part=canvas]');
  const { left, top, width } = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new MouseEvent('click', { bubbles: true,
    clientX: left + width / 3, clientY: top + 19 * 4.5 }));
}`;
const press = key => `document.dispatchEvent(new KeyboardEvent('keydown',
  { key: '${key}', cancelable: true }))`;
/* Types a word, and another one. */
const search = `i => {
  const field = document.querySelector('[part=search]');
  field.value = i % 2 ? 'cart::step_1' : 'step_2.';
  field.dispatchEvent(new Event('input'));
}`;
/* Shows the callers and callees of a function, and goes back. */
const sandwich = `i => i % 2 ? ${press('Escape')} : ${press('s')}`;
const bottomUp = `i => i % 2 ? ${press('v')} : ${press('b')}`;
/* The longest time for which the page does not respond. */
const watchTasks = context => context.addInitScript(`{ window.longest = 0;
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries())
      window.longest = Math.max(window.longest, duration);
  }).observe({ type: 'longtask', buffered: true }); }`);
const longest = page => page.evaluate(() => window.longest);

/* A step of the wheel in, and one out. */
const wheel = `i => {
  const canvas = [...document.querySelectorAll('div')].findLast(e => {
    const { width, height } = e.getBoundingClientRect();
    return width > innerWidth / 2 && height > innerHeight / 2;
  });
  canvas.dispatchEvent(new WheelEvent('wheel', { bubbles: true,
    cancelable: true, ctrlKey: true, deltaY: i % 2 ? 100 : -100,
    clientX: innerWidth / 3, clientY: innerHeight / 2 }));
}`;

async function take(path, isThere, from, ...doings) {
  const paints = [], tasks = [], times = doings.map(() => []);
  for (let i = 0; i < ROUNDS; i++) {
    const context = await fresh();
    await whenPainted(context, isThere, from);
    await watchTasks(context);
    const page = await context.newPage();
    await page.goto(BASE + path);
    paints.push(await painted(page));
    for (const [k, act] of doings.entries())
      times[k].push(...await acts(page, act));
    tasks.push(await longest(page));
    await context.close();
  }
  return [paints, tasks, ...times];
}

async function flame(id) {
  const graph = `/api/v1/observability/profiling/${id}/flamegraph`;
  const ours = await take(`/ui/p/${id}`,
    `() => document.querySelector('[part=canvas]')?.width > 1`,
    'format=columns', zoom, search, sandwich, bottomUp);
  const theirs = await take(`/ui/speedscope/#profileURL=${
    encodeURIComponent(graph + '?format=speedscope')}`,
  `() => document.body?.innerText.includes('Left Heavy')`,
  'format=speedscope', wheel);
  tell('flame_200k_paint_ms', ours[0]);
  for (const [k, name] of ['longest', 'zoom', 'search', 'sandwich',
    'bottomup'].entries()) tell(`flame_200k_${name}_ms`, ours[k + 1]);
  tell('speedscope_200k_paint_ms', theirs[0]);
  tell('speedscope_200k_longest_ms', theirs[1]);
  tell('speedscope_200k_zoom_ms', theirs[2]);
}

async function large(id) {
  const [paints, tasks] = await take(`/ui/p/${id}`,
    `() => document.querySelector('[part=canvas]')?.width > 1`,
    'format=columns', zoom);
  tell('flame_2m_paint_ms', paints);
  tell('flame_2m_longest_ms', tasks);
}

/* --- another range ---------------------------------------------------------- */

/* Clicks that make the range three times as long, until the new flame
 * graph. */
const widen = page => page.evaluate(() => new Promise((done, fail) => {
  const graph = () => document.querySelector('[part=canvas]');
  const before = graph(), from = performance.now();
  const look = () => {
    if (performance.now() - from > 60e3) return fail(Error('no new graph'));
    if (!graph() || graph() === before || graph().width <= 1)
      return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() =>
      done(performance.now() - from)));
  };
  document.querySelector('button[title="A range three times as long"]').click();
  look();
}));

async function range(end, ...services) {
  const context = await fresh(), page = await context.newPage(), list = [];
  for (let i = 0; i < ROUNDS; i++)
    for (const service of services) {
      const middle = Number(end) - 15 * DAY_MS;
      await page.goto(`${BASE}/ui/s/${service}?type=cpu&from=${
        middle - DAY_MS / 6}&to=${middle + DAY_MS / 6}`);
      await page.locator('[part=canvas]').waitFor();
      for (let wider = 0; wider < 4; wider++) list.push(await widen(page));
    }
  tell('range_change_ms', list);
}

await { first, flame, large, range }[what](...args);
await browser.close();
