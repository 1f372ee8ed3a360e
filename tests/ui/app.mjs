/* The application as people use it. DEMO is the pid of the service demo. */
import { BASE, complaintsOf, cookiesOf, inside, judged, KEY, run, same, signIn,
  visit } from './browser.mjs';

const title = (page, name) => page.getByRole('heading', { name }).waitFor();

/* Another key, of a viewer: its id, and the key itself. */
async function makeKey(name) {
  const reply = await fetch(BASE + '/api/v1/tokens', { method: 'POST',
    headers: { Authorization: `Bearer ${KEY}`,
      'Content-Type': 'application/json' },
    body: JSON.stringify({ name, role: 'viewer' }) });
  return reply.json();
}

async function makeLink() {
  const reply = await fetch(BASE + '/api/v1/browser-session/link',
    { method: 'POST', headers: { Authorization: `Bearer ${KEY}` } });
  return new URL((await reply.json()).url);
}

/* The element that has the focus, in words for a test that fails. */
const focused = page => page.evaluate(() => {
  const e = document.activeElement;
  return `${e.tagName} ${e.getAttribute('aria-label') ?? e.id} ${
    e.textContent.trim().slice(0, 40)}`;
});

/* Waits until the element has the focus, which the page must give it. */
async function holds(page, element) {
  await element.waitFor();
  const handle = await element.elementHandle();
  await page.waitForFunction(e => e === document.activeElement, handle,
    { timeout: 10e3 }).catch(async () => {
    throw new Error(`${await focused(page)} has the focus, not ${element}`);
  });
}

/* Waits until the element, which may be hidden, has this text alone. */
const reads = (element, text) => element.filter({ hasText:
  new RegExp(`^\\s*${text}\\s*$`) }).waitFor({ state: 'attached' });

/* Waits until the field has a value. */
async function valueOf(field) {
  const handle = await field.elementHandle();
  await field.page().waitForFunction(e => e.value, handle);
  return field.inputValue();
}

const MOST_TABS = 60;

/* Goes to the element from where the focus is: each stop has to be seen. */
async function tabTo(page, element, key = 'Tab') {
  for (let i = 0; i < MOST_TABS; i++) {
    await page.keyboard.press(key);
    const [isThere, isSeen] = await element.evaluateAll(all => {
      const e = document.activeElement, style = getComputedStyle(e);
      const { top, left, bottom, right } = e.getBoundingClientRect();
      return [all.includes(e), e === document.body ||
        e.matches(':focus-visible') && style.outlineStyle !== 'none' &&
        parseFloat(style.outlineWidth) > 0 && bottom > 0 && right > 0 &&
        top < innerHeight && left < innerWidth];
    });
    if (!isSeen) throw new Error(`${await focused(page)} is not seen`);
    if (isThere) return;
  }
  throw new Error(`${MOST_TABS} times ${key} do not lead to ${element}`);
}

let capture, comparison; /* paths of what tests made */

const tests = {
  async the_root_leads_to_the_sign_in_page() {
    const page = await visit('/');
    await title(page, 'Stoker');
    same(new URL(page.url()).pathname, '/ui/');
  },
  async a_key_signs_in_and_is_kept_nowhere() {
    const page = await visit('/ui/services');
    await signIn(page);
    await title(page, 'Services');
    const [cookie] = await cookiesOf(page);
    same([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
    same(await page.evaluate(key => document.cookie.includes(key) ||
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }])
        .includes(key), KEY), false);
  },
  async the_first_page_weighs_at_most_60_kb() {
    const page = await inside('/ui/services');
    await title(page, 'Services');
    const bytes = await page.evaluate(() => [
      ...performance.getEntriesByType('navigation'),
      ...performance.getEntriesByType('resource')]
      .filter(e => new URL(e.name).pathname.startsWith('/ui/'))
      .reduce((sum, e) => sum + e.encodedBodySize, 0));
    console.log(`# first page: ${bytes} bytes as sent`);
    same(bytes > 0 && bytes <= 60e3, true);
  },
  async an_unknown_key_is_refused_with_advice() {
    const page = await visit('/ui/services');
    await signIn(page, 'stk_none');
    await page.getByRole('alert').getByText('This key is unknown').waitFor();
    same((await cookiesOf(page)).length, 0);
  },
  async nothing_typed_is_told_and_nothing_sent() {
    const page = await visit('/ui/services');
    await signIn(page, '');
    await page.getByRole('alert').getByText('Paste an API key').waitFor();
  },
  async a_link_asks_and_signs_in_once_and_leaves_the_address() {
    const { pathname, hash } = await makeLink();
    const page = await visit(pathname + hash);
    await page.getByText(/^Sign this browser in as tok-\S+, admin of/).waitFor();
    same([new URL(page.url()).hash, (await cookiesOf(page)).length], ['', 0]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await title(page, 'Services');
    same([new URL(page.url()).hash, (await cookiesOf(page)).length], ['', 1]);
    const other = await visit(pathname + hash);
    await other.getByRole('alert').getByText('This link was used').waitFor();
    same([other.url(), (await cookiesOf(other)).length], [BASE + '/ui/', 0]);
  },
  async a_link_that_is_declined_can_still_be_used() {
    const { pathname, hash } = await makeLink();
    const page = await visit(pathname + hash);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('API key or JWT').waitFor();
    same((await cookiesOf(page)).length, 0);
    const other = await visit(pathname + hash);
    await other.getByRole('button', { name: 'Sign in' }).click();
    await title(other, 'Services');
  },
  async the_page_that_was_asked_for_opens_after_signing_in() {
    const page = await visit('/ui/services?x=1');
    await signIn(page);
    await title(page, 'Services');
    same(page.url(), BASE + '/ui/services?x=1');
  },
  async signing_out_ends_the_session_on_the_server() {
    const page = await inside('/ui/services');
    await title(page, 'Services');
    const cookies = await cookiesOf(page);
    await page.locator('.menu summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key or JWT').waitFor();
    const again = await visit('/ui/services', { cookies });
    await again.getByLabel('API key or JWT').waitFor();
  },
  async a_session_that_an_administrator_ends_is_told() {
    const page = await inside('/ui/services');
    await title(page, 'Services');
    const headers = { Authorization: `Bearer ${KEY}` };
    const { items } = await (await fetch(BASE + '/api/v1/browser-sessions',
      { headers })).json();
    for (const { id } of items)
      await fetch(`${BASE}/api/v1/browser-sessions/${id}`,
        { method: 'DELETE', headers });
    await page.evaluate(() =>
      document.dispatchEvent(new Event('visibilitychange')));
    await page.getByText('Your session is over').waitFor();
    await signIn(page);
    await title(page, 'Services');
  },
  async signing_in_needs_no_pointer() {
    const page = await visit('/ui/services');
    await holds(page, page.getByLabel('API key or JWT'));
    await page.keyboard.insertText(KEY);
    await page.keyboard.press('Enter');
    await title(page, 'Services');
  },
  async the_whole_way_needs_no_pointer() {
    const page = await visit('/ui/services');
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const button = name => page.getByRole('button', { name, exact: true });
    const here = page.locator('.crumbs [aria-current="page"]');
    const chosen = () => page.locator('[part=chosen]').textContent();
    const canvas = page.locator('[part=canvas]'), rows = page.locator('[part=rows] button');
    const profile = async () => {
      const before = page.url();
      await press('Enter');
      await holds(page, page.getByLabel('Seconds'));
      await page.keyboard.type('2');
      await press('Enter');
      await page.waitForURL(url => url.href !== before);
      await holds(page, here);
      await page.getByRole('progressbar').waitFor();
      await rows.first().waitFor();
      await holds(page, here);
    };
    await holds(page, page.getByLabel('API key or JWT'));
    await page.keyboard.insertText(KEY);
    await press('Enter');
    await holds(page, page.getByRole('heading', { name: 'Services' }));

    await tabTo(page, button('Profile now: demo'));
    await press('Enter');
    await holds(page, page.getByLabel('Seconds'));
    await press('Escape');
    await holds(page, button('Profile now: demo'));
    await profile();

    await tabTo(page, canvas);
    await press('ArrowDown');
    const first = await chosen();
    await press('ArrowDown');
    same([first !== 'all', await chosen() !== first], [true, true]);
    await press('Enter');
    await page.waitForURL(/#z=/);
    await tabTo(page, page.locator('[part=crumbs] button', { hasText: 'all' }),
      'Shift+Tab');
    await press('Enter');
    await holds(page, page.locator('[part=crumbs] button', { hasText: 'all' }));
    await tabTo(page, canvas);
    await press('Enter', 'Backspace', 'Backspace');
    await page.waitForURL(url => !url.hash.includes('z='));
    await press('ArrowDown', 'Enter');
    await tabTo(page, button('Reset'), 'Shift+Tab');
    await press('Enter');
    await holds(page, canvas);
    await reads(page.locator('[part=crumbs]'), 'all');

    const row = rows.nth(1), name = await row.getAttribute('data-name');
    await tabTo(page, row);
    await press('Enter');
    await holds(page, page.locator('[part=rows] [aria-pressed=true]'));
    await press('s');
    await page.waitForURL(/view=sandwich/);
    same(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('fn'),
      name);
    await holds(page, page.locator('[part=rows] [aria-pressed=true]'));
    await tabTo(page, page.locator('[part=callers] canvas'), 'Shift+Tab');
    await press('Backspace');
    await holds(page, canvas);
    await press('ArrowDown', 's');
    await holds(page, page.locator('[part=callees] canvas'));

    await tabTo(page, button('Profile now: demo'), 'Shift+Tab');
    await profile();
    await tabTo(page, page.getByLabel('Compare with'));
    await press('Space', 'ArrowDown', 'Enter');
    await page.waitForURL(/\/ui\/compare\?/);
    await holds(page, here);
    await page.locator('[part=verdict] strong').waitFor();
    await tabTo(page, button('Swap sides'));
    await tabTo(page, canvas);
  },
  async a_path_without_a_page_leads_back() {
    const page = await inside('/ui/none');
    await page.getByRole('link', { name: 'Go to the services' }).click();
    await title(page, 'Services');
    await page.goBack();
    await title(page, 'There is no such page');
  },
  async services_can_be_filtered() {
    const page = await inside('/ui/services');
    await page.getByLabel('Filter services').fill('nothing like that');
    await page.getByText('No service has').waitFor();
  },
  async services_are_sorted_by_cpu_and_asked_for_ten_times_a_minute_at_most() {
    const page = await visit('/ui/services');
    const rows = [['calm', 0.02e9], ['demo', 0.5e9], ['quiet', null]];
    await page.route(/api\/v1\/overview/, async route => {
      const reply = await route.fetch(), body = await reply.json();
      const demo = body.items.find(s => s.name === 'demo');
      body.items = rows.map(([name, cpuPerSecond]) => ({ ...demo, name,
        cpuPerSecond, cpu: [{ t: '2026-01-01T00:00:00.000Z',
          rate: cpuPerSecond }] }));
      await route.fulfill({ response: reply, json: body });
    });
    await page.clock.install();
    await signIn(page);
    const names = page.locator('.services tbody th a:not(.badge)');
    await names.filter({ hasText: 'quiet' }).waitFor();
    same(await names.allTextContents(), ['calm', 'demo', 'quiet']);
    await page.getByRole('button', { name: 'CPU' }).click();
    await page.locator('th[aria-sort=descending]').waitFor();
    same(await names.allTextContents(), ['demo', 'calm', 'quiet']);
    await page.getByText('0.52 CPUs in all').waitFor();
    let asked = 0;
    page.on('request', r => { asked += /\/(api|v0)\//.test(r.url()); });
    const next = page.waitForRequest(/overview/);
    await page.clock.runFor(60e3);
    await next;
    same(asked <= 10, true);
  },
  async a_capture_goes_from_a_click_to_its_flame_graph() {
    const page = await inside('/ui/services');
    await page.getByRole('button', { name: 'Profile now: demo' }).click();
    await page.getByLabel('Seconds').fill('2');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.locator('[part=rows] tr').first().waitFor();
    await reads(page.locator('[part=service]'), 'demo');
    await reads(page.locator('[part=crumbs]'), 'all');
    capture = new URL(page.url()).pathname;
    await page.locator('summary', { hasText: 'Share' }).click();
    const link = page.getByLabel(/Anybody who has this link/);
    same((await fetch(await valueOf(link))).status, 200);
    await page.keyboard.press('Escape');
    await link.waitFor({ state: 'hidden' });
  },
  async the_list_of_lines_follows_the_selected_function() {
    const page = await inside(capture);
    const lines = page.locator('[part=lines-rows] tr');
    const title = page.locator('[part=lines-title]');
    const matmul = page.locator('[part=rows] button[data-name*=matmul]');
    await matmul.click();
    await page.locator('[part=more-actions]').click();
    await page.getByRole('menuitem', { name: 'Cost of each line' }).click();
    await title.filter({ hasText: /Lines of .*matmul/ }).waitFor();
    await lines.first().waitFor();
    const places = await lines.locator('td:nth-child(3)').allTextContents();
    same(places.every(place => /^\d+/.test(place)), true);
    same(places.some(place => place.includes('sum += weights')), true);
    const { width, height } = page.viewportSize();
    await page.setViewportSize({ width: 390, height });
    await lines.locator('td:nth-child(3)').first().waitFor();
    await page.setViewportSize({ width, height });
    await page.getByRole('button', { name: 'Instructions' }).click();
    await title.filter({ hasText: /Instructions of .*matmul/ }).waitFor();
    await lines.locator('.text').first().waitFor();
    const costs = await lines.locator('td:nth-child(1)').allTextContents();
    same(costs.some(text => /%$/.test(text)), true);
    await page.getByRole('button', { name: 'Lines', exact: true }).click();
    await page.locator('[part=rows] button[data-name]:not([data-name*=matmul])')
      .first().click();
    await title.filter({ hasNotText: 'matmul' }).waitFor();
    await page.keyboard.press('l');
    await title.waitFor({ state: 'hidden' });
    same(new URL(page.url()).hash.includes('lines'), false);
  },
  async columns_of_the_table_are_chosen_and_kept_in_the_address() {
    const page = await inside(capture);
    const heads = () => page.locator('[part=top] th:visible').allTextContents();
    await page.locator('[part=columns] summary').click();
    await page.getByLabel('Source').check();
    await page.getByLabel('Package').uncheck();
    const wanted = ['Self', 'Total', 'Function', 'Source'];
    same((await heads()).map(text => text.trim()), wanted);
    await page.getByText(/^demo\.cc:\d+$/).first().waitFor();
    await page.reload();
    await page.locator('[part=rows] tr').first().waitFor();
    same((await heads()).map(text => text.trim()), wanted);
  },
  async a_service_that_nothing_matches_is_told_before_a_capture() {
    await fetch(BASE + '/api/v1/services', { method: 'POST',
      headers: { Authorization: `Bearer ${KEY}`,
        'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'idle', match: { exe: '/bin/none' } }) });
    const page = await inside('/ui/services');
    const dialog = page.locator('dialog[open]');
    const refusal = dialog.getByRole('alert').getByText('no process');
    /* if a busy worker answers no look, the start is accepted, and fails */
    for (let tries = 0; tries < 5; tries++) {
      await page.getByRole('button', { name: 'Profile now: idle' }).click();
      await dialog.getByText('No process matches').waitFor();
      await dialog.getByRole('button', { name: 'Start', exact: true }).click();
      await refusal.or(page.getByText('This capture failed')).waitFor();
      if (await refusal.isVisible()) break;
      await page.goto(BASE + '/ui/services');
    }
    await refusal.waitFor();
    await dialog.getByRole('link', { name: 'edit the match' }).click();
    await page.getByText('exe = /bin/none').waitFor();
    await fetch(BASE + '/api/v1/services/idle', { method: 'DELETE',
      headers: { Authorization: `Bearer ${KEY}` } });
  },
  async a_type_that_cannot_be_captured_is_told_with_the_line_that_mends_it() {
    const page = await visit('/ui/services');
    const lack = { reason: 'waits are not measured', fix: 'sysctl the.fix' };
    await page.route(/api\/v1\/(overview|services\/demo)(\?.*)?$/,
      async route => {
        const reply = await route.fetch(), body = await reply.json();
        for (const service of body.items ?? [body])
          if (service.name === 'demo') service.unsupported = [
            { profileType: 'block', certain: false, ...lack },
            { profileType: 'io', certain: true, ...lack }];
        await route.fulfill({ response: reply, json: body });
      });
    await signIn(page);
    await page.getByText('without io').waitFor();
    await page.getByRole('button', { name: 'Profile now: demo' }).click();
    const dialog = page.locator('dialog[open]');
    await dialog.getByRole('option', { name: 'block (perhaps not)' })
      .waitFor({ state: 'attached' });
    await dialog.getByLabel('Type').selectOption('io');
    await dialog.getByText('Waits are not measured.').waitFor();
    await dialog.getByText('sysctl the.fix').waitFor();
  },
  async a_worker_that_is_silent_is_told_above_the_services() {
    const page = await visit('/ui/services');
    await page.route('**/api/v1/workers*', async route => {
      const reply = await route.fetch(), body = await reply.json();
      for (const worker of body.items) worker.alive = false;
      await route.fulfill({ response: reply, json: body });
    });
    await signIn(page);
    await page.getByText('its last heartbeat came').waitFor();
  },
  async a_second_capture_at_once_is_refused_with_the_way_to_the_first() {
    const page = await inside('/ui/s/demo');
    const start = async () => {
      await page.getByRole('button', { name: 'Profile now: demo' }).click();
      await page.getByLabel('Seconds').fill('300');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
    };
    await start();
    await page.getByRole('progressbar').waitFor();
    const running = page.url();
    await page.goBack();
    await start();
    await page.getByRole('link', { name: 'Watch it' }).click();
    await page.getByRole('progressbar').waitFor();
    same(page.url(), running);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByText('This capture was cancelled').waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog')
      .getByRole('button', { name: 'Delete', exact: true }).click();
    await page.waitForURL('**/ui/s/demo?*');
  },
  async a_view_of_a_flame_graph_is_in_the_address() {
    const page = await inside(capture);
    await page.locator('[part=rows] tr').first().waitFor();
    await page.locator('[part=canvas]').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.includes('z='));
    await page.keyboard.press('/');
    await page.keyboard.type('model');
    await page.locator('[part=matched]', { hasText: 'matched' }).waitFor();
    const again = await visit(new URL(page.url()).pathname +
      new URL(page.url()).hash, { cookies: await cookiesOf(page) });
    await again.locator('[part=matched]', { hasText: 'matched' }).waitFor();
    same(await again.locator('[part=search]').inputValue(), 'model');
    await page.goBack();
    await page.waitForFunction(() => !location.hash.includes('z='));
    await reads(page.locator('[part=crumbs]'), 'all');
  },
  async every_export_of_a_capture_can_be_had() {
    const page = await inside(capture);
    await page.locator('[part=rows] tr').first().waitFor();
    const links = await page.locator('[part=formats] a').evaluateAll(all =>
      all.map(a => a.href));
    same(links.length >= 6, true);
    for (const link of links)
      same(await page.evaluate(url => fetch(url).then(r => r.status), link),
        200);
  },
  async a_capture_opens_in_speedscope_of_this_server() {
    const page = await inside(capture);
    await page.locator('[part=rows] tr').first().waitFor();
    await page.keyboard.press('e');
    const link = page.getByRole('link', { name: 'Open in speedscope' });
    const other = await page.context().newPage(), refused = [];
    other.setDefaultTimeout(60e3);
    await other.exposeFunction('tellRefused', what => refused.push(what));
    await other.addInitScript(() => addEventListener(
      'securitypolicyviolation', e => tellRefused(e.blockedURI)));
    const [reply] = await Promise.all([other.waitForResponse(r =>
      r.url().endsWith('flamegraph?format=speedscope')),
    link.getAttribute('href').then(at => other.goto(BASE + at))]);
    same(reply.status(), 200);
    /* eval: speedscope looks for a Node.js module that it can do without */
    same(refused.filter(what => what !== 'eval'), []);
  },
  async a_page_goes_on_by_itself_when_the_server_is_there_again() {
    const page = await inside('/ui/none');
    await title(page, 'There is no such page');
    await page.route(/flamegraph/, route => route.abort());
    await page.goto(BASE + capture);
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await page.unroute(/flamegraph/);
    await page.locator('[part=rows] tr').first().waitFor();
    await page.route(/browser-session/, route => route.abort());
    await page.reload();
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await page.unroute(/browser-session/);
    await page.locator('[part=rows] tr').first().waitFor();
  },
  async a_page_goes_on_by_itself_when_the_api_runs_again() {
    const away = message => route => route.fulfill({ status: 502,
      json: { message, error_code: 'ApiUnavailable', details: {} } });
    const page = await inside('/ui/none');
    await title(page, 'There is no such page');
    await page.route(/flamegraph/, away('the API is not running'));
    await page.goto(BASE + capture);
    await page.getByRole('alert').getByText('The API is not running.')
      .waitFor();
    await page.unroute(/flamegraph/);
    await page.locator('[part=rows] tr').first().waitFor();
  },
  async a_pin_stays() {
    const page = await inside(capture);
    const pin = page.getByRole('button', { name: 'Pin', exact: true });
    await pin.click();
    await page.locator('button[aria-pressed=true]', { hasText: 'Pin' })
      .waitFor();
    await page.reload();
    await page.locator('button[aria-pressed=true]', { hasText: 'Pin' })
      .waitFor();
  },
  async a_capture_that_does_not_exist_is_told() {
    const page = await inside('/ui/p/sess-aaaaaaaaaaaaaaaaaaaa');
    await page.getByRole('alert').waitFor();
  },
  async two_captures_are_compared_in_words() {
    const headers = { Authorization: `Bearer ${KEY}`,
      'Content-Type': 'application/json' };
    const profiling = BASE + '/api/v1/observability/profiling/';
    const { id } = await (await fetch(profiling + 'start', { method: 'POST',
      headers, body: JSON.stringify({ service: 'demo', profileType: 'cpu',
        durationSeconds: 2 }) })).json();
    let status = 'running';
    while (status === 'running')
      ({ status } = await (await fetch(`${profiling}${id}?wait=20`,
        { headers })).json());
    const page = await inside(capture);
    await page.getByLabel('Compare with').selectOption(id);
    await page.locator('[part=verdict] strong').waitFor();
    comparison = page.url().slice(BASE.length);
    const sides = () => page.locator('[part=facts] div').evaluateAll(all =>
      ['Base', 'Comparison'].map(name => all.map(d => d.children)
        .find(([dt]) => dt.textContent === name)[1].textContent));
    const before = await sides();
    await page.getByRole('button', { name: 'Swap sides' }).click();
    await page.waitForFunction(url => location.href !== url,
      BASE + comparison);
    await page.waitForFunction(text => [...document.querySelectorAll(
      '[part=facts] dd')].some(d => d.textContent === text), before[1]);
    same(await sides(), before.reverse());
    await page.goBack();
    await page.waitForURL(BASE + comparison);
    /* No test after this one takes a capture. */
    process.kill(Number(process.env.DEMO), 'SIGSTOP');
  },
  async a_range_is_compared_with_the_one_before_it() {
    const page = await inside('/ui/s/demo?from=now-15m');
    await page.locator('[part=rows] tr').first().waitFor();
    await page.getByLabel('Compare with').selectOption(
      'the time just before');
    await page.waitForURL(/\/ui\/compare\?a=\d+\.\.\d+&b=/);
    await page.getByRole('alert').getByRole('heading',
      { name: 'No cpu profile in one of the ranges' }).waitFor();
    const empty = page.url();
    await page.getByRole('button', { name: 'Compare the two halves' }).click();
    await page.waitForFunction(url => location.href !== url, empty);
  },
  async a_range_is_brushed_zoomed_out_of_and_gone_back_to() {
    const page = await inside('/ui/s/demo?from=now-15m');
    await page.locator('[part=rows] tr').first().waitFor();
    const over = await page.locator('.u-over').boundingBox();
    await page.mouse.move(over.x + over.width * 0.6, over.y + 20);
    await page.mouse.down();
    await page.mouse.move(over.x + over.width - 2, over.y + 20,
      { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=\d+&to=\d+/);
    await page.locator('[part=rows] tr').first().waitFor();
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await page.goBack();
    await page.waitForURL(/from=\d+&to=\d+/);
    await page.goBack();
    await page.waitForURL('**/ui/s/demo?*from=now-15m');
    await page.locator('[part=rows] tr').first().waitFor();
  },
  async the_trend_of_a_function_is_laid_over_that_of_all() {
    const page = await inside('/ui/s/demo?from=now-15m');
    const row = page.locator('[part=rows] button').first();
    const name = (await row.getAttribute('title')).split('\n')[0];
    await row.click();
    await page.locator('.within', { hasText: name.slice(0, 8) }).waitFor();
    same(await page.locator('.chart .unseen th').count(), 3);
    same(await page.locator('.chart .unseen tbody td:nth-child(3)')
      .evaluateAll(all => all.some(td => td.textContent !== '')), true);
    await page.keyboard.press('Escape');
    await page.locator('.within').waitFor({ state: 'detached' });
  },
  async a_range_without_profiles_says_why_and_where_the_last_one_is() {
    const page = await inside('/ui/s/demo?type=cpu&from=1&to=1000');
    await title(page, 'No cpu profile in this range');
    await page.getByText('The last one').waitFor();
    await page.getByText('Continuous profiling is off').waitFor();
  },
  async a_range_is_chosen_by_its_dates() {
    const page = await inside('/ui/s/demo?from=now-15m');
    await page.locator('[part=rows] tr').first().waitFor();
    await page.locator('summary', { hasText: 'Dates' }).click();
    const from = page.getByLabel('From', { exact: true });
    const began = await valueOf(from);
    await from.fill('2037-01-01T00:00');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('alert').getByText('ends before').waitFor();
    await from.fill(began);
    await page.getByLabel('To', { exact: true }).fill('2037-01-01T00:00');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.waitForURL(/from=\d+&to=\d+/);
    await page.locator('[part=rows] tr').first().waitFor();
    const type = page.locator('.range select').first();
    const { x } = await type.boundingBox();
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByRole('button', { name: /^As of \d/ }).waitFor();
    same([new URL(page.url()).searchParams.get('from'),
      Math.abs((await type.boundingBox()).x - x) < 1], ['now-1h', true]);
  },
  async a_worker_thread_makes_other_trees_of_a_large_profile() {
    const until = Math.floor(Date.now() / 1000), from = until - 60;
    const leaves = [...Array(60000).keys()].map(i =>
      `main;step_${i % 300};leaf_${i} 1\n`);
    same((await fetch(`${BASE}/ingest?name=large&from=${from}&until=${until}&${
      ''}sampleRate=100&format=folded`, { method: 'POST', body: leaves.join(''),
      headers: { Authorization: `Bearer ${KEY}`,
        'Content-Type': 'text/plain' } })).status, 200);
    const page = await inside(`/ui/s/large?type=cpu&from=${from}000&to=${
      until}000`);
    await page.locator('[part=rows] tr').first().waitFor();
    same(page.workers().length, 0);
    await page.keyboard.press('b');
    await page.locator('[part=bottomup][aria-pressed=true]').waitFor();
    same(page.workers().length, 1);
    await page.locator('[part=canvas]').focus();
    await page.keyboard.press('ArrowDown');
    await page.locator('[part=chosen]', { hasText: 'leaf_' }).waitFor();
    await page.goto(page.url().replace(/#.*/, '') + '#fn=step_7&view=sandwich');
    await page.reload();
    await page.locator('[part=callers-title]', { hasText: 'step_7' }).waitFor();
    await page.locator('[part=chosen]', { hasText: 'step_7' }).waitFor();
    await page.locator('[part=numbers]', { hasText: '0.33%' }).waitFor();
    same(complaintsOf(page), []);
  },
  async a_range_is_shared_as_it_is_looked_at() {
    const page = await inside('/ui/s/demo?from=now-15m#view=bottomup&q=model');
    await page.locator('[part=matched]', { hasText: 'matched' }).waitFor();
    await page.locator('summary', { hasText: 'Share' }).click();
    const field = page.getByLabel(/Anybody who has this link/);
    const link = await valueOf(field);
    same([new URL(link).hash, (await fetch(link)).status],
      ['#view=bottomup&q=model', 200]);
  },
  async a_label_that_is_chosen_stands_there_until_it_is_taken_away() {
    const page = await inside('/ui/s/demo?from=now-15m&label.zone=a');
    await page.getByRole('button', { name: 'zone = a' }).click();
    await page.waitForURL(url => !url.search.includes('zone'));
    await page.locator('[part=rows] tr').first().waitFor();
    await page.locator('summary', { hasText: 'Groups' }).click();
    await page.getByText('Captures that were asked for have no').waitFor();
  },
  async a_service_that_does_not_exist_is_told_once() {
    const page = await inside('/ui/s/nobody');
    await title(page, 'There is no service nobody');
    same(await page.getByRole('alert').count(), 0);
  },
  async a_key_is_made_shown_once_and_revoked() {
    const page = await inside('/ui/access');
    await page.getByRole('button', { name: 'Make a key' }).click();
    await page.getByLabel('Name').fill('made-here');
    await page.getByLabel('Role').selectOption('viewer');
    await page.getByRole('dialog').getByRole('button',
      { name: 'Make a key' }).click();
    const key = await valueOf(page.getByLabel('The new key'));
    const asks = () => fetch(BASE + '/api/v1/services',
      { headers: { Authorization: `Bearer ${key}` } }).then(r => r.status);
    same(await asks(), 200);
    const row = page.locator('tr', { hasText: 'made-here' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button',
      { name: 'Revoke' }).click();
    await row.getByText('revoked', { exact: true }).waitFor();
    same(await asks(), 401);
  },
  async what_is_removed_leaves_the_focus_to_its_heading() {
    const { name } = await makeKey('removed-here');
    const page = await inside('/ui/access');
    const row = page.locator('tr', { hasText: name });
    await tabTo(page, row.getByRole('button', { name: 'Revoke' }));
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Enter');
    await row.getByText('revoked', { exact: true }).waitFor();
    await holds(page, page.getByRole('heading', { name: 'API keys' }));
  },
  async a_browser_is_signed_out_by_an_administrator() {
    const guest = await makeKey('guest');
    const other = await visit('/ui/services');
    await signIn(other, guest.key);
    await title(other, 'Services');
    const page = await inside('/ui/access');
    await title(page, 'Browsers that are signed in');
    const browsers = page.locator('.part').nth(1);
    await browsers.locator(`tr:has([title="${guest.id}"])`)
      .getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('dialog').getByRole('button',
      { name: 'Sign out' }).click();
    await browsers.locator(`tr:has([title="${guest.id}"])`)
      .waitFor({ state: 'detached' });
    await other.reload();
    await other.getByLabel('API key or JWT').waitFor();
  },
  async who_may_not_manage_keys_sees_no_way_there() {
    const page = await visit('/ui/access');
    await signIn(page, (await makeKey('looks')).key);
    await title(page, 'For administrators');
    same(await page.getByRole('link', { name: 'Access' }).count(), 0);
    same(await page.getByRole('link', { name: 'Audit' }).count(), 1);
  },
  async the_audit_tells_who_did_what() {
    const page = await inside('/ui/audit');
    await title(page, 'Audit');
    await page.locator('tr', { hasText: 'Revoke token' }).first().waitFor();
    await page.getByRole('link', { name: /^cpu of / }).first().waitFor();
    const search = page.getByRole('searchbox');
    await search.fill('start profile');
    await search.press('Enter');
    await page.waitForFunction(() => [...document.querySelectorAll(
      'tbody td:nth-child(3)')].every(td => td.textContent ===
      'Start profile'));
  },
  async the_system_page_shows_workers_checks_and_what_the_tenant_holds() {
    const page = await inside('/ui/system');
    await title(page, 'Workers');
    await page.locator('td', { hasText: /^cpu\b/ }).waitFor();
    await page.locator('th', { hasText: /^events/ }).waitFor();
    const services = page.locator('tr', { hasText: 'Services, including those' });
    /* demo, and the service of the large profile */
    same(await services.locator('td').first().textContent(), '2');
  },
  the_system_page_has_no_violation: judged('/ui/system', page =>
    title(page, 'Checks')),
  access_has_no_violation: judged('/ui/access', page =>
    page.locator('tbody tr').first().waitFor()),
  the_form_of_a_key_has_no_violation: judged('/ui/access', async page => {
    await page.getByRole('button', { name: 'Make a key' }).click();
    await page.getByLabel('Name').waitFor();
  }),
  the_audit_has_no_violation: judged('/ui/audit', page =>
    title(page, 'Audit')),
  async the_choice_of_a_theme_is_kept() {
    const page = await inside(capture);
    await page.locator('[part=rows] tr').first().waitFor();
    await page.getByRole('button', { name: 'Dark', exact: true }).click();
    await page.reload();
    same(await page.evaluate(() => document.documentElement.dataset.theme),
      'dark');
  },
  async keys_are_listed_where_they_work() {
    const page = await inside('/ui/services');
    await title(page, 'Services');
    const list = page.getByRole('dialog', { name: 'Keys' });
    const sections = () => list.getByRole('heading', { level: 3 })
      .allTextContents();
    await page.keyboard.press('?');
    await list.waitFor();
    same(await sections(), ['Everywhere']);
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await page.goto(BASE + '/ui/s/demo');
    await page.locator('[part=rows] tr').first().waitFor();
    await page.locator('[aria-roledescription="chart"]').first().waitFor();
    await page.keyboard.press('?');
    await list.waitFor();
    same(await sections(), ['Everywhere', 'Chart', 'Flame graph']);
    await list.getByText('Zoom out one step').waitFor();
    await list.getByRole('button', { name: 'Close' }).click();
    await list.waitFor({ state: 'detached' });
  },
  async letters_in_a_field_are_no_keys() {
    const page = await inside('/ui/services');
    await title(page, 'Services');
    const theme = () => page.evaluate(() =>
      document.documentElement.dataset.theme);
    await page.keyboard.press('/');
    await page.keyboard.type('d?/');
    same(await page.getByLabel('Filter services').inputValue(), 'd?/');
    same(await theme(), 'light');
    await page.getByLabel('Filter services').blur();
    await page.keyboard.press('d');
    same(await theme(), 'dark');
  },
  the_list_of_keys_has_no_violation: judged('/ui/s/demo', async page => {
    await page.locator('[part=rows] tr').first().waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  }),
  the_question_of_a_link_has_no_violation: async () => {
    const { pathname, hash } = await makeLink();
    await judged(pathname + hash, page =>
      page.getByText('Sign this browser in as').waitFor(), visit)();
  },
  captures_have_no_violation: async () => judged(capture, page =>
    page.locator('[part=rows] tr').first().waitFor())(),
  comparisons_have_no_violation: async () => judged(comparison, page =>
    page.locator('[part=verdict] strong').waitFor())(),
  a_service_has_no_violation: judged('/ui/s/demo', page =>
    page.locator('[part=rows] tr').first().waitFor()),
  the_form_of_a_capture_has_no_violation: judged('/ui/services',
    async page => {
      await page.getByRole('button', { name: 'Profile now: demo' }).click();
      await page.getByLabel('Seconds').waitFor();
    }),
  the_sign_in_page_has_no_violation: judged('/ui/', page =>
    page.getByLabel('API key or JWT').waitFor(), visit),
  services_have_no_violation: judged('/ui/services', page =>
    title(page, 'Services')),
};
await run(tests);
