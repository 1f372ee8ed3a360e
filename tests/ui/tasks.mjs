/*
 * Eight questions that people ask of profiles, answered on pages: tests/ui/tasks.
 * A task begins at the list of services. Its clicks are counted as people make
 * them: a choice of a list is two, what is typed is none.
 *
 *	CHANGED		when discount_lookup of the shop became slower, in ms
 *	BASELINE	a capture of the shop before that, which is a baseline
 *	MUTEX, SLOW	captures of the shop: of its locks, and of its CPU time
 *			while nightly_report ran
 */
import { BASE, close, inside, KEY, visit } from './browser.mjs';
import { costsOf, readProfile } from './pprof.mjs';

const { CHANGED, BASELINE, MUTEX, SLOW, ONLY } = process.env;
const changed = Number(CHANGED);
const P = '/api/v1/observability/profiling';

/* --- what the page is compared with ----------------------------------------- */

const ask = async address => {
  const reply = await fetch(new URL(address, BASE),
    { headers: { Authorization: `Bearer ${KEY}` } });
  if (!reply.ok) throw new Error(`${address}: ${await reply.text()}`);
  return reply;
};
const json = async address => (await ask(address)).json();
const samplesOf = async address => readProfile(new Uint8Array(
  await (await ask(address)).arrayBuffer()));
const withFormat = (address, format) => {
  const url = new URL(address, BASE);
  url.searchParams.set('format', format);
  return url.pathname + url.search;
};

/* The share of a function in the profile at an address, by the API and by a
 * sum over the pprof file. */
async function shareOf(address, name, column) {
  const url = new URL(address, BASE);
  url.searchParams.delete('format');
  url.searchParams.set('top', '100');
  const { topFunctions } = await json(url.pathname + url.search);
  const row = topFunctions.find(f => f.funcName === name);
  const costs = costsOf(await samplesOf(withFormat(address, 'pprof')), name);
  return { api: column === 'self' ? row.selfPct : row.cumulativePct,
    sum: 100 * costs[column] / costs.all };
}

/* --- hands ------------------------------------------------------------------- */

class Task {
  constructor(page) {
    Object.assign(this, { page, clicks: 0, began: Date.now() });
    page.on('request', r => {
      if (/[?&]format=(columns|json)/.test(r.url())) this.profile = r.url();
    });
  }

  async click(locator, options) {
    await locator.click(options);
    this.clicks++;
  }

  async choose(locator, option) {
    await locator.selectOption(option);
    this.clicks += 2;
  }

  async drag(locator, from, to) {
    const { x, y, width, height } = await locator.boundingBox();
    await this.page.mouse.move(x + width * from, y + height / 2);
    await this.page.mouse.down();
    await this.page.mouse.move(x + width * to, y + height / 2, { steps: 5 });
    await this.page.mouse.up();
    this.clicks++;
  }

  open(service) {
    return this.click(this.page.getByRole('link', { name: service,
      exact: true }));
  }

  /* The rows of the table of functions, as texts. */
  async functions() {
    await this.page.locator('[part=rows] tr').first().waitFor();
    return this.page.locator('[part=rows] tr').evaluateAll(rows => rows.map(row => ({
      name: row.querySelector('button').dataset.name,
      numbers: [...row.cells].slice(0, 2).map(c => c.textContent) })));
  }
}
/* "costs 2.1 times as much", "costs 99 % more" */
function timesOf(text) {
  const [, n, unit] = /costs ([\d.]+) (times|% more)/.exec(text) ?? [];
  return unit === 'times' ? Number(n) : 1 + Number(n) / 100;
}
const number = text => Number(/-?[\d.,]+/.exec(text)?.[0].replace(/,/g, ''));

/* The place of a function in the picture, found by its tooltip. */
async function frameOf(name) {
  const canvas = document.querySelector('[part=canvas]'), tip = '[part=tip]';
  const { left, top, width } = canvas.getBoundingClientRect();
  for (let y = 10; y < 300; y += 8)
    for (let x = 4; x < width; x += 24) {
      canvas.dispatchEvent(new PointerEvent('pointermove', { bubbles: true,
        clientX: left + x, clientY: top + y, pointerType: 'mouse' }));
      await new Promise(requestAnimationFrame);
      if (document.querySelector(tip).textContent.startsWith(name))
        return { x, y };
    }
  throw new Error('it is not in the picture');
}

/* --- the tasks --------------------------------------------------------------- */

const tasks = {
  'a hottest function now': async t => {
    await t.open('shop');
    const [{ name, numbers }] = await t.functions();
    const own = await shareOf(t.profile, name, 'self');
    return { answer: name, wanted: /^render$/, page: number(numbers[0]),
      ...own };
  },
  'b which got slower, since when': async t => {
    const { page } = t;
    await t.open('shop');
    await t.functions();
    await t.choose(page.getByLabel('Compare with'), 'the time before it changed');
    const sentence = page.locator('[part=verdict]');
    await sentence.filter({ hasText: 'discount_lookup' }).waitFor();
    const first = page.getByRole('region', { name: 'What changed first' })
      .getByRole('listitem').first();
    await first.waitFor();
    const text = await first.textContent();
    const at = new URL(page.url()).searchParams;
    const q = new URLSearchParams({ service: 'shop', profileType: 'cpu',
      from: at.get('a').split('..')[0], to: at.get('b').split('..')[1] });
    const { functions } = await json(`${P}/history/shifts?${q}`);
    const { shifts } = functions.find(f => f.function === 'discount_lookup');
    const shift = shifts.at(-1);
    const [earliest, latest] = [shift.earliest, shift.latest].map(Date.parse);
    if (!(earliest <= changed && changed <= latest))
      throw new Error(`${shift.earliest} to ${shift.latest} is not when it ${''
      }changed: ${new Date(changed).toISOString()}`);
    const rate = async (from, to) => {
      const range = new URLSearchParams({ service: 'shop', profileType: 'cpu',
        from: String(from), to: String(to) });
      const { coveredSeconds } = await json(`${P}/merge?${range}&top=1`);
      return costsOf(await samplesOf(`${P}/merge?${range}&format=pprof`),
        'discount_lookup').self / coveredSeconds;
    };
    const edge = Date.parse(shift.at), before = Number(q.get('from'));
    return { answer: text, wanted: /discount_lookup costs/,
      page: timesOf(text), api: shift.factor,
      sum: await rate(edge, q.get('to')) / await rate(before, edge),
      within: 0.1 };
  },
  'c why goroutines grow': async t => {
    const { page } = t;
    await t.open('orders');
    await t.click(page.getByRole('link', { name: 'Stacks' }));
    const row = page.getByRole('region', { name: 'Possible leaks' })
      .locator('tbody tr').first();
    await row.waitFor();
    const text = await row.textContent();
    const id = /\/p\/([^/?]+)/.exec(page.url())[1];
    const { leakSuspects } = await json(
      `/api/v1/profiling/sessions/${id}/analysis?top=1000`);
    const costs = costsOf(await samplesOf(`${P}/${id}/flamegraph?format=pprof`), 'main.replica');
    return { answer: text, wanted: /main\.replica/,
      page: number(await row.locator('td').first().textContent()),
      api: leakSuspects[0].count, sum: costs.total };
  },
  'd which lock, who holds it': async t => {
    const { page } = t;
    await t.open('shop');
    await t.choose(page.locator('.range select').first(), 'mutex');
    const rows = await t.functions();
    const [{ name, numbers }] = rows;
    const own = await shareOf(t.profile, name, 'self');
    const all = rows.map(r => r.name);
    return { answer: all.filter(n => n.startsWith('[')).join(' '),
      wanted: /(?=.*\[lock cache_lock\]).*\[held by refill\]/, page: number(numbers[0]),
      ...own };
  },
  'e this view for a colleague': async t => {
    const { page } = t;
    await t.open('shop');
    await t.functions();
    await t.click(page.locator('[part=canvas]'), { position: await page.evaluate(
      frameOf, 'discount_lookup') });
    const zoomed = await page.locator('[part=crumbs] [aria-current]').textContent();
    await t.click(page.locator('[part=export] summary'));
    const picture = await page.getByRole('link', { name: 'SVG' })
      .getAttribute('href');
    const svg = await (await ask(picture)).text();
    await page.keyboard.press('Escape');
    await page.context().grantPermissions(['clipboard-read',
      'clipboard-write']);
    await t.click(page.locator('summary', { hasText: 'Share' }));
    await t.click(page.getByRole('button', { name: 'Copy', exact: true }));
    await page.getByText('Copied').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const theirs = await visit(link.replace(BASE, ''));
    const crumb = theirs.locator('[part=crumbs] [aria-current]');
    await crumb.filter({ hasText: zoomed }).waitFor();
    const own = await shareOf(t.profile, zoomed, 'total');
    const shown = /([\d.]+) ?%/.exec(svg.split('<title>').slice(1).find(s =>
      s.startsWith(zoomed)) ?? '')?.[1];
    return { answer: `${zoomed}, in the picture and behind the link`,
      wanted: /^discount_lookup, in/, page: number(shown ?? ''), ...own };
  },
  'f new release against the baseline': async t => {
    const { page } = t;
    await t.open('shop');
    await t.choose(page.getByLabel('Last'), 'now-5m');
    await t.functions();
    await t.choose(page.getByLabel('Compare with'), 'v1.0');
    const sentence = page.locator('[part=verdict]');
    await sentence.filter({ hasText: 'discount_lookup' }).waitFor();
    const then = page.getByRole('link', { name: 'Compare since then' });
    if (await then.isVisible()) {
      await t.click(then);
      await then.waitFor({ state: 'detached' });
      await sentence.filter({ hasText: 'discount_lookup' }).waitFor();
    }
    const text = await sentence.textContent();
    const at = new URL(page.url()).searchParams;
    const [from, to] = at.get('b').split('..');
    const range = new URLSearchParams({ service: 'shop', profileType: 'cpu',
      from, to });
    const check = await json(`/api/v1/profiling/baselines/${
      at.get('baseline')}/check?${range}`);
    const self = async address => costsOf(await samplesOf(address),
      'discount_lookup').self;
    const { coveredSeconds } = await json(`${P}/merge?${range}&top=1`);
    const { durationSeconds } = await json(`${P}/${BASELINE}`);
    return { answer: text, wanted: /discount_lookup/,
      page: timesOf(text), api: timesOf(check.reason),
      sum: await self(`${P}/merge?${range}&format=pprof`) / coveredSeconds /
        (await self(`${P}/${BASELINE}/flamegraph?format=pprof`) /
          durationSeconds), within: 0.05 };
  },
  'g time under a function': async t => {
    const { page } = t;
    await t.open('shop');
    await t.functions();
    await page.keyboard.press('/');
    await page.keyboard.type('discount_lookup');
    const matched = page.locator('[part=matched]');
    await matched.filter({ hasText: 'matched' }).waitFor();
    const text = await matched.textContent();
    return { answer: text, wanted: /matched/, page: number(text),
      ...await shareOf(t.profile, 'discount_lookup', 'total') };
  },
  'h slow second and what ran': async t => {
    const { page } = t;
    await t.click(page.getByRole('row', { name: /^shop/ })
      .getByRole('link', { name: /^cpu/ }));
    await t.click(page.getByRole('link', { name: 'Heat map' }));
    const map = page.getByRole('application', { name: 'Heat map' });
    const lane = page.locator('.lane', { hasText: 'nightly-report' });
    await t.click(lane);
    await page.getByRole('button', { name: 'All threads' }).waitFor();
    const cells = await page.locator('.heat-map tbody tr').evaluateAll(rows =>
      rows.map(r => Number(r.cells[1].textContent)));
    const busy = [...cells.keys()].filter(i => cells[i] > 0);
    await t.drag(map, (busy[0] + 0.1) / cells.length,
      (busy.at(-1) + 0.9) / cells.length);
    await page.waitForURL(/sel=\d+-\d+/);
    const [{ name, numbers }] = await t.functions();
    const [, from, to] = /sel=(\d+)-(\d+)/.exec(page.url());
    const tid = new URL(page.url()).searchParams.get('tid');
    const part = `${P}/${SLOW}.${from}-${to}.${tid}`;
    const { topFunctions } = await json(`${part}?top=100`);
    const costs = costsOf(await samplesOf(`${part}/flamegraph?format=pprof`),
      name);
    return { answer: name, wanted: /^nightly_report$/, page: number(numbers[0]),
      api: topFunctions.find(f => f.funcName === name).selfPct,
      sum: 100 * costs.self / costs.all };
  },
};

/* Numbers of a page are rounded to three digits. */
const near = (a, b, within = 0.006) => Math.abs(a - b) <= within * Math.abs(b);

console.log('task\tclicks\tseconds\tpage\tAPI\tpprof\tanswer');
let failed = 0;
for (const [name, body] of Object.entries(tasks)) {
  if (!new RegExp(ONLY || '.').test(name[0])) continue;
  const page = await inside('/ui/services', { width: 1440, height: 900 });
  await page.getByRole('row', { name: /^orders/ }).waitFor();
  const task = new Task(page);
  try {
    const { answer, wanted, page: shown, api, sum, within } = await body(task);
    const seconds = (Date.now() - task.began) / 1000;
    const isRight = wanted.test(answer) && near(shown, api, within) &&
      near(api, sum, within);
    if (!isRight) failed++;
    console.log([name, task.clicks, seconds.toFixed(1), shown,
      Number(api?.toPrecision(5)), Number(sum.toPrecision(5)),
      answer.slice(0, 100).replace(/\s+/g, ' ') + (isRight ? ''
        : `\n\tWRONG: ${wanted} was wanted`)].join('\t'));
  } catch (e) {
    failed++;
    console.log(`${name}\t${task.clicks}\t-\t-\t-\t-\tNO ANSWER: ${
      e.message.split('\n').slice(0, 6).join(' ')}`);
    if (process.env.PICTURES)
      await page.screenshot({ path: `${process.env.PICTURES}/${name[0]}.png` });
  }
  await page.context().close();
}
await close();
process.exitCode = failed > 0 ? 1 : 0;
