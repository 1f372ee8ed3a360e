/*
 * The chart of a service, with what happened to it.
 *
 *	SINCE	a time before all of that, in milliseconds
 *	ID	a capture that is a baseline, too; later a trigger fired, and the
 *		service was started again
 *	STEPS	twenty minutes of another service, in which two functions
 *		changed
 */
import { BASE, complaintsOf, inside, judged, KEY, run, same }
  from './browser.mjs';

const { SINCE, ID, STEPS } = process.env;
const since = Number(SINCE);
const path = `/ui/s/demo?type=cpu&from=${SINCE}`;
const graph = page => page.locator('[part=rows] tr').first().waitFor();
const summary = page => page.locator('.captures summary');
const open = async (at = path) => {
  const page = await inside(at);
  await page.locator('.chart .u-over').waitFor();
  return page;
};
const compared = (a, b) => `/ui/compare?a=${a.join('..')}&b=${b.join('..')
}&service=demo&type=cpu`;
const side = (page, name) => new URL(page.url()).searchParams.get(name);

async function drag(page, from, to) {
  const { x, y, width } = await page.locator('.chart .u-over').boundingBox();
  await page.mouse.move(x + width * from, y + 40);
  await page.mouse.down();
  await page.mouse.move(x + width * to, y + 40, { steps: 3 });
  await page.mouse.up();
}

const tests = {
  async a_click_on_a_group_shows_it_alone() {
    const from = Number(STEPS), until = from + 1200e3;
    const page = await open(`/ui/s/steps?type=cpu&from=${from}&to=${until}`);
    await page.locator('summary', { hasText: 'Groups' }).click();
    const rows = page.locator('.groups tbody tr');
    const groups = await page.evaluate(async q =>
      (await (await fetch(q)).json()).groups,
    `/api/v1/observability/profiling/history/groups?service=steps&${
      ''}profileType=cpu&from=${from}&to=${until}&by=label.zone`);
    same(groups.map(g => g.value).sort(), ['z0', 'z1']);
    await rows.first().waitFor();
    same(await rows.locator('th').allTextContents(),
      groups.map(g => g.value));
    same(await rows.locator('td:nth-child(2)').allTextContents(),
      groups.map(g => (100 * g.share).toFixed(1) + '%'));
    await page.getByRole('button', { name: 'z1', exact: true }).click();
    await page.waitForURL(url => url.searchParams.get('label.zone') === 'z1');
    await page.getByRole('button', { name: 'zone = z1' }).waitFor();
    await page.getByLabel('Compare with').selectOption('its own first half');
    const diff = await page.waitForRequest(/\/diff\?/);
    same(new URL(diff.url()).searchParams.get('label.zone'), 'z1');
    await page.locator('[part=verdict] strong').waitFor();
    await page.getByRole('button', { name: 'zone = z1' }).click();
    await page.waitForURL(url => !url.searchParams.has('label.zone'));
  },
  async a_group_is_compared_with_the_others() {
    const from = Number(STEPS), until = from + 1200e3;
    const page = await open(`/ui/s/steps?type=cpu&from=${from}&to=${until}`);
    await page.locator('summary', { hasText: 'Groups' }).click();
    await page.getByTitle('Compare z0 with the others').click();
    await page.getByRole('link', { name: 'the others' }).waitFor();
    await page.locator('[part=verdict] strong').waitFor();
    const samples = await page.locator('[part=facts] dd').first().textContent();
    same(complaintsOf(page), []);
    await page.getByRole('button', { name: 'zone = z0' }).waitFor();
    same(/ in 10\.00 min/.test(samples), true);
  },
  async a_range_without_data_is_compared_without_a_request_that_fails() {
    const from = Number(STEPS), until = from + 1200e3;
    const page = await open(`/ui/s/steps?type=cpu&from=${from}&to=${until}`);
    await page.getByLabel('Compare with').selectOption('a day earlier');
    await page.getByText('No cpu profile in one of the ranges').waitFor();
    await page.locator('.chart .u-over').waitFor();
    same(complaintsOf(page), []);
  },
  async growth_of_a_gauge_is_a_click_away() {
    const at = minute => Number(STEPS) / 1000 + minute * 60;
    for (const [minute, n] of [[0, 200], [9, 800]])
      same((await fetch(`${BASE}/ingest?name=grown&units=goroutines&format=${
        ''}folded&from=${at(minute)}&until=${at(minute + 1)}`, {
        method: 'POST', body: `main;wait ${n}\n`,
        headers: { Authorization: `Bearer ${KEY}`,
          'Content-Type': 'text/plain' } })).status, 200);
    const page = await open(`/ui/s/grown?type=goroutine&from=${at(0)}000&to=${
      at(20)}000`);
    await page.getByRole('link', { name: 'Growth' }).click();
    await page.locator('[part=facts] dd', { hasText: '+300.0%' }).waitFor();
  },
  async samples_are_grouped_by_their_labels() {
    const from = Number(STEPS), until = from + 1200e3;
    const page = await open(`/ui/s/steps?type=cpu&from=${from}&to=${until}`);
    await page.route(/history\/groups/, async route => {
      const reply = await route.fetch(), body = await reply.json();
      const group = (value, share) => ({ value, share, cost: 1, points: [],
        perSecond: 1 });
      await route.fulfill({ response: reply, json: { ...body,
        by: 'sample.http.route', groups: [group('/cart', 0.7), group('', 0.3)],
        keys: [{ by: 'sample.http.route', values: 1 }] } });
    });
    await page.locator('summary', { hasText: 'Groups' }).click();
    await page.locator('.groups tr', { hasText: 'without30.0%' }).waitFor();
    await page.getByRole('button', { name: '/cart', exact: true }).click();
    await page.waitForURL(url =>
      url.searchParams.get('sample.http.route') === '/cart');
    await page.getByRole('button', { name: 'http.route = /cart' }).waitFor();
  },
  async what_happened_is_counted_in_words() {
    const page = await open();
    await summary(page).filter({ hasText:
      '1 capture, 1 baseline, 1 trigger fired, 1 restart' }).waitFor();
    same(await page.locator('.legend i').count(), 4);
  },
  async what_happened_is_told_one_by_one() {
    const page = await open();
    await summary(page).filter({ hasText: 'restart' }).click();
    const rows = await page.locator('.captures td:nth-child(2)')
      .allTextContents();
    /* The newest first; a baseline is as old as its capture. */
    same(rows.slice(0, 2).map(t => t.replace(/\d+ of .*? began/, 'began')),
      ['process began', 'trigger busy fired']);
    same(rows.slice(2).sort(), ['baseline v1', 'capture of 2 s']);
    await page.locator('.captures tr', { hasText: 'baseline v1' })
      .getByRole('link').click();
    await page.waitForURL(BASE + `/ui/p/${ID}`);
  },
  async a_mark_leads_to_its_capture() {
    const page = await open();
    await summary(page).filter({ hasText: 'trigger' }).waitFor();
    const over = page.locator('.chart .u-over');
    const { x, y, width } = await over.boundingBox();
    for (let i = 0; i < width; i += 4) {
      await page.mouse.move(x + i, y + 5);
      if (await over.evaluate(e => e.style.cursor) === 'pointer') {
        await page.mouse.click(x + i, y + 5);
        await page.waitForURL(/\/ui\/p\/sess-/);
        return;
      }
    }
    throw new Error('no mark lies under the pointer');
  },
  async a_range_of_the_chart_needs_no_pointer() {
    const page = await open();
    await page.getByRole('application', { name: 'over time' }).focus();
    for (const key of ['ArrowLeft', 'Enter', 'PageUp', 'Enter'])
      await page.keyboard.press(key);
    await page.waitForURL(/from=\d+&to=\d+/);
  },
  async two_ranges_of_a_chart_are_compared() {
    const page = await open();
    await graph(page);
    await page.getByLabel('Compare with').selectOption(
      'its own first half');
    await page.waitForURL(/compare\?a=\d+\.\.\d+&b=/);
    const [, middle] = side(page, 'a').split('..');
    same(side(page, 'b').split('..')[0], middle);
  },
  async a_capture_is_compared_with_the_one_before() {
    const page = await open();
    await summary(page).click();
    await page.getByRole('link', { name: 'Compare with the one before' })
      .first().click();
    await page.waitForURL(/compare\?a=sess-.*&b=sess-/);
  },
  async a_drag_moves_either_range() {
    const page = await open(compared([since, since + 60e3], [since + 61e3,
      since + 120e3]));
    const [a, b] = [side(page, 'a'), side(page, 'b')];
    await drag(page, 0.6, 0.8);
    await page.waitForFunction(old => !location.search.includes(old), b);
    same(side(page, 'a'), a);
    const other = side(page, 'b');
    await page.getByRole('radio', { name: 'Base' }).check();
    await drag(page, 0.2, 0.4);
    await page.waitForFunction(old => !location.search.includes(old), a);
    same(side(page, 'b'), other);
    await page.goBack();
    await page.waitForFunction(old => location.search.includes(old), a);
  },
  async functions_are_told_in_the_order_in_which_they_changed() {
    const at = minute => Number(STEPS) + minute * 60e3;
    const page = await inside(`/ui/compare?a=${at(0)}..${at(10)}&b=${at(10)
    }..${at(20)}&service=steps&type=cpu`);
    const rows = page.getByRole('region', { name: 'What changed first' })
      .getByRole('listitem');
    await rows.first().waitFor();
    same((await rows.allTextContents()).map(t => /(early|late) .*times/
      .exec(t)?.[1]), ['early', 'late']);
    same(await rows.locator('time').evaluateAll((all, from) => all.map(t =>
      Math.round((Date.parse(t.dateTime) - from) / 60e3)), at(0)), [11, 14]);
    await rows.first().getByRole('link', { name: 'early' }).click();
    await page.locator('.within', { hasText: 'early' }).waitFor();
    await page.mouse.move(0, 0); // off a chart that appeared beneath it
    const said = page.locator('.chart .said');
    await said.filter({ hasText:
      /early costs 3\.9 times as much since .* \(between .* and .*\)/ })
      .waitFor();
  },
  async what_changed_is_on_the_chart_and_leads_to_a_comparison() {
    const from = Number(STEPS), until = from + 1200e3;
    const page = await open(`/ui/s/steps?type=cpu&from=${from}&to=${until}`);
    await page.locator('.chart .said').filter({ hasText:
      /^(early|late) costs .* times as much since .* \(between/ }).waitFor();
    await summary(page).filter({ hasText: '2 changes' }).click();
    await page.locator('.captures tr', { hasText: 'early costs' })
      .getByRole('link', { name: 'Compare before and after' }).click();
    await page.locator('[part=verdict] button', { hasText: 'early' })
      .waitFor();
    same([Math.round((Number(side(page, 'a').split('..')[1]) - from) / 60e3),
      side(page, 'a').split('..')[1]], [11, side(page, 'b').split('..')[0]]);
  },
  a_chart_with_marks_has_no_violation: judged(path, async page => {
    await graph(page);
    await summary(page).filter({ hasText: 'restart' }).click();
  }),
  a_chart_with_two_ranges_has_no_violation: judged(compared([since,
    since + 60e3], [since + 61e3, since + 120e3]), page =>
    page.getByRole('radio', { name: 'Base' }).waitFor()),
};
await run(tests);
