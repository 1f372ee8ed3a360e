/*
 * The heat map of a capture as people use it.
 *
 *	ID	a capture of 4 seconds, of three threads that work
 *	UPLOAD	a profile without times
 */
import { BASE, cookiesOf, inside, judged, run, same, visit }
  from './browser.mjs';

const { ID, UPLOAD } = process.env;
const path = (query = '') => `/ui/p/${ID}/heat${query}`;
const map = page => page.getByRole('application', { name: 'Heat map' });
const drawn = async page => {
  await map(page).waitFor();
  await page.getByText(/^[\d,]+ samples/).first().waitFor();
};
const open = async query => {
  const page = await inside(path(query));
  await drawn(page);
  return page;
};

/* Drags from one part of the width to another, in the middle of the height. */
async function drag(page, from, to) {
  const { x, y, width, height } = await map(page).boundingBox();
  await page.mouse.move(x + width * from, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * to, y + height / 2, { steps: 3 });
  await page.mouse.up();
}

const fact = (page, name) => page.locator('[part=facts] div', { has:
  page.locator('dt', { hasText: name }) }).locator('dd').textContent();
const graph = page => page.locator('[part=rows] tr').first().waitFor();
const sum = page => page.getByText(/^[\d,]+ samples/).first().textContent()
  .then(text => Number(/^[\d,]+/.exec(text)[0].replace(',', '')));

const tests = {
  async a_range_that_is_dragged_has_its_flame_graph() {
    const page = await open();
    await drag(page, 0.26, 0.74);
    await page.waitForURL(/sel=\d+-\d+/);
    await graph(page);
    const [, from, to] = /sel=(\d+)-(\d+)/.exec(page.url());
    same([from > 900 && from < 1300, to > 2700 && to < 3400], [true, true]);
    same(await fact(page, 'Duration'), `${((to - from) / 1000).toFixed(2)} s`);
    const part = Number(await fact(page, 'Samples')), all = await sum(page);
    same(part > 0 && part < all, true);
  },
  async a_range_is_in_the_address() {
    const page = await open('?sel=1000-2000');
    await graph(page);
    same(await fact(page, 'Duration'), '1.00 s');
    const again = await visit(path('?sel=2000-3500'),
      { cookies: await cookiesOf(page) });
    await graph(again);
    same(await fact(again, 'Duration'), '1.50 s');
  },
  async a_range_needs_no_pointer() {
    const page = await open();
    await map(page).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    for (let i = 0; i < 9; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/heat?sel=100-1010');
    await graph(page);
    await map(page).focus();
    await page.keyboard.press('Escape');
    await page.waitForURL('**/heat');
    await page.locator('[part=rows]').waitFor({ state: 'detached' });
  },
  async two_ranges_are_compared() {
    const page = await open('?sel=0-1900');
    await page.getByRole('button', { name: 'Compare with a range' }).click();
    await drag(page, 0.52, 0.98);
    await page.waitForURL(/compare\?a=[\w.-]+\.0-1900&b=[\w.-]+\.\d+-\d+/);
    await page.locator('[part=verdict] strong').waitFor();
    await page.goBack();
    await page.waitForURL('**/heat?sel=0-1900');
  },
  async a_range_is_compared_with_all_of_the_capture() {
    const page = await open('?sel=0-1900');
    await page.getByRole('link', { name: 'Compare with all' }).click();
    await page.locator('[part=verdict] strong').waitFor();
  },
  async a_range_is_a_page_of_its_own() {
    const page = await open('?sel=0-1900');
    await page.getByRole('link', { name: 'Open', exact: true }).click();
    await page.waitForURL(`**/ui/p/${ID}.0-1900`);
    await graph(page);
    await page.getByText('0 s to 1.9 s').waitFor();
    same(await page.getByRole('button', { name: 'Delete' }).count(), 0);
    await page.getByRole('link', { name: 'Heat map' }).click();
    await page.waitForURL(`**/ui/p/${ID}/heat?sel=0-1900`);
    await page.goBack();
    await page.getByRole('link', { name: 'cpu', exact: true }).click();
    await page.waitForURL(BASE + `/ui/p/${ID}`);
  },
  async one_thread_has_a_map_and_a_flame_graph_of_its_own() {
    const page = await open('?sel=0-9000');
    await graph(page);
    const all = await sum(page);
    const lane = page.locator('.lane').first();
    const [, told] = /: ([\d,]+) samples/.exec(
      await lane.getAttribute('title'));
    await lane.click();
    await page.getByRole('button', { name: 'All threads' }).waitFor();
    const own = Number(told.replace(',', ''));
    for (let i = 0; i < 100 && await sum(page) !== own; i++)
      await page.waitForTimeout(100); // the button comes before the map
    same(await sum(page), own);
    same(own < all, true);
    await page.waitForFunction(n => [...document.querySelectorAll('[part=facts] dd')]
      .some(d => d.textContent === n), told);
  },
  async a_capture_is_grouped_by_thread_and_process() {
    const page = await inside(`/ui/p/${ID}`);
    await page.locator('summary', { hasText: 'Threads' }).click();
    const rows = page.locator('.groups tbody tr');
    await rows.first().waitFor();
    const counts = async () => (await rows.locator('td:nth-child(3)')
      .allTextContents()).map(t => Number(t.replace(',', '')));
    const all = await counts();
    await page.getByLabel('Group by').selectOption('process');
    await rows.filter({ hasText: 'with' }).first().waitFor();
    same((await counts()).reduce((a, b) => a + b),
      all.reduce((a, b) => a + b));
    await page.getByLabel('Group by').selectOption('thread');
    await rows.first().getByRole('link').click();
    await page.waitForURL(/\.0-\d+\.\d+$/);
    await graph(page);
    await page.waitForFunction(n => [...document.querySelectorAll('[part=facts] dd')]
      .some(d => Number(d.textContent.replace(',', '')) === n), all[0]);
  },
  async the_map_has_a_table_for_those_who_do_not_see_it() {
    const page = await open();
    const cells = await page.locator('.heat-map table td:nth-child(2)')
      .allTextContents();
    same(cells.length >= 40 && cells.length <= 42, true);
    same(cells.reduce((n, c) => n + Number(c), 0), await sum(page));
  },
  async a_profile_without_times_says_so() {
    const page = await inside(`/ui/p/${UPLOAD}/heat`);
    await page.getByText('This profile has no times').waitFor();
    await page.getByRole('link', { name: 'Go to its flame graph' }).click();
    await graph(page);
  },
  a_heat_map_has_no_violation: judged(path('?sel=500-2500'), async page => {
    await drawn(page);
    await graph(page);
  }),
};
await run(tests);
