/*
 * Stacks of goroutines and threads as people look at them.
 *
 *	FEW, MANY	captures of 90 and of 180 threads
 *	BEFORE, AFTER	100 and 300 goroutines that are left behind, and one more
 */
import { BASE, inside, judged, run, same } from './browser.mjs';

const { FEW, MANY, BEFORE, AFTER } = process.env;
const path = id => `/ui/p/${id}/threads`;
const section = (page, name) => page.getByRole('region', { name });
const stacks = page => section(page, 'Stacks');
const open = async (id, query = '', options) => {
  const page = await inside(path(id) + query, options);
  await stacks(page).locator('tbody tr').first().waitFor();
  return page;
};

const LINE = 'https://git.example.org/leaks/blob/v7/main.go#L120';

const tests = {
  async goroutines_are_grouped_and_counted() {
    const page = await open(AFTER);
    await page.getByText('301 goroutines at 2 stacks').waitFor();
    same(await stacks(page).locator('tbody tr').first().locator('td, th')
      .evaluateAll(all => all.map(e => e.textContent)), ['300',
      'main.replicacreated by main.lookup', 'channel send', '6 min']);
  },
  async a_leak_is_told_with_its_rule_and_its_evidence() {
    const page = await open(AFTER);
    const row = section(page, 'Possible leaks').locator('tbody tr').first();
    for (const text of ['main.replica', 'Likely', '100 before'])
      await row.getByText(text).waitFor();
    await page.getByText('2.98 times as many as').waitFor();
    await page.getByRole('link', { name: 'the capture before' }).click();
    await page.waitForURL(BASE + path(BEFORE));
  },
  async main_that_waits_for_nothing_is_no_leak() {
    const page = await open(AFTER);
    same(await section(page, 'Possible leaks').getByRole('row').count(), 2);
  },
  async a_state_keeps_its_stacks_only_and_back_brings_all() {
    const page = await open(AFTER);
    await page.getByRole('group', { name: 'State' })
      .getByRole('button', { name: 'blocked forever' }).click();
    await page.getByText('1 of 301 goroutines at 1 stack').waitFor();
    same(new URL(page.url()).search, '?class=blocked-forever');
    await page.goBack();
    await page.getByText('301 goroutines at 2 stacks').waitFor();
  },
  async stacks_are_found_by_what_is_typed() {
    const page = await open(AFTER);
    await page.getByLabel('Filter by function').fill('MAIN.GO:130');
    await page.getByText('No stack matches').waitFor();
    await page.getByLabel('Filter by function').fill('MAIN.GO:120');
    await page.getByText('300 of 301 goroutines').waitFor();
  },
  async a_stack_opens_and_is_copied_without_a_pointer() {
    const page = await open(AFTER);
    await page.context().grantPermissions(['clipboard-read',
      'clipboard-write']);
    await stacks(page).getByRole('button', { name: 'main.replica' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('/src/main.go:120').waitFor();
    await page.getByRole('button', { name: 'Copy stack' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Copied').waitFor();
    same(await page.evaluate(() => navigator.clipboard.readText()),
      'main.replica\n\t/src/main.go:120\ncreated by main.lookup\n');
  },
  async a_frame_of_a_stack_leads_to_the_line_in_the_repository() {
    const page = await open(AFTER);
    await stacks(page).getByRole('button', { name: 'main.replica' }).click();
    same(await page.getByRole('link', { name: '/src/main.go:120' })
      .getAttribute('href'), LINE);
  },
  async a_function_leads_to_its_line_in_the_repository() {
    const page = await inside(`/ui/p/${AFTER}`);
    await page.locator('[part=rows] button', { hasText: 'main.replica' }).click();
    const link = page.locator('[part=numbers] a');
    same([await link.textContent(), await link.getAttribute('href')],
      ['/src/main.go:120', LINE]);
    await page.keyboard.press('l');
    same(await page.locator('[part=lines-rows] a').first().getAttribute('href'),
      LINE);
  },
  async counts_of_a_stack_are_laid_over_those_of_all() {
    const page = await open(AFTER);
    const values = column => page.locator(`.chart td:nth-child(${column})`)
      .evaluateAll(all => all.map(td => td.textContent).filter(Boolean));
    await stacks(page).getByRole('button', { name: 'main.replica' }).click();
    await page.getByRole('button', { name: 'Over time' }).click();
    await page.locator('.within', { hasText: 'main.replica' }).waitFor();
    same((await values(2)).length > 0, true);
    same((await values(3)).length, (await values(2)).length);
  },
  async a_lock_is_told_with_all_that_wait_for_it() {
    const page = await open(MANY);
    const rows = section(page, 'Locks and channels').locator('tbody tr');
    const texts = await rows.allTextContents();
    const mutex = texts.filter(t => t.includes('mutex'));
    same(mutex.length, 1);
    same(/^20wait_mutex0x[0-9a-f]+ · at 20 stacks/.test(mutex[0]), true);
  },
  async threads_are_called_threads() {
    const page = await open(MANY);
    await page.getByText(/of 181 threads|^181 threads/).first().waitFor();
  },
  async two_captures_are_told_side_by_side() {
    const page = await open(BEFORE);
    await page.goto(BASE + path(AFTER));
    await page.getByLabel('Compare with').selectOption(BEFORE);
    await page.waitForURL(`**/threads?base=${BEFORE}`);
    const counts = () => section(page, /^(More|Fewer)/).locator('tbody tr')
      .first().locator('td').evaluateAll(all =>
        all.slice(0, 2).map(e => e.textContent));
    await section(page, 'More: 1 stack').waitFor();
    same(await counts(), ['100', '300']);
    same(await page.locator('.side').evaluateAll(all => all.map(e =>
      e.clientWidth > 300 && e.scrollHeight <= e.clientHeight)), [true, true]);
    await page.getByRole('link', { name: 'Swap sides' }).click();
    await section(page, 'Fewer: 1 stack').waitFor();
    same(await counts(), ['300', '100']);
    await page.goBack();
    await section(page, 'More: 1 stack').waitFor();
  },
  async captures_that_are_alike_are_told_to_be() {
    const page = await inside(path(AFTER) + `?base=${AFTER}`);
    await page.getByRole('heading', { name: 'The same stacks' }).waitFor();
  },
  async a_service_leads_to_its_newest_stacks() {
    const page = await inside('/ui/s/leaks?type=goroutine');
    await page.getByRole('link', { name: 'Stacks' }).click();
    await page.waitForURL(BASE + path(AFTER));
    await page.getByText('301 goroutines at 2 stacks').waitFor();
  },
  async a_service_leads_to_the_newest_profile_of_its_memory() {
    const page = await inside('/ui/s/leaks?type=memory');
    await page.getByRole('link', { name: 'Newest' }).click();
    await page.waitForURL(`${BASE}/ui/p/${process.env.HEAP}`);
  },
  async the_flame_graph_is_a_click_away_and_back() {
    const page = await open(FEW);
    await page.getByRole('link', { name: 'Flame graph' }).click();
    await page.locator('[part=rows] tr').first().waitFor();
    await page.getByRole('link', { name: 'Stacks' }).click();
    await stacks(page).waitFor();
  },
  stacks_have_no_violation: judged(path(AFTER), async page => {
    await stacks(page).getByRole('button', { name: 'main.replica' }).click();
    await page.getByText('/src/main.go:120').waitFor();
  }),
  stacks_of_threads_have_no_violation: judged(path(MANY), page =>
    stacks(page).locator('tbody tr').first().waitFor()),
  two_sides_have_no_violation: judged(path(MANY) + `?base=${FEW}`, page =>
    page.getByRole('link', { name: 'Swap sides' }).waitFor()),
};
await run(tests);
