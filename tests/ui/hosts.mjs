/*
 * A service of several hosts as people use it.
 *
 *	FIRST	a host where the services `both` and `alone` run; `both` also
 *		runs on the host `second`
 */
import { inside, judged, run, same } from './browser.mjs';

const { FIRST } = process.env;
const HOSTS = [FIRST, 'second'].sort(), EACH = /^Each of 2/;
const LENGTH_S = 5;
const SEEN_S = 15; /* long enough for a busy machine to show that it runs */

const host = page => page.getByLabel('Host');
const running = page => page.getByRole('list', { name: 'Captures that run' });
const link = name => ({ name: `cpu on ${name}` });

/* The form of a start, on a page that has its button. */
async function form(page, service, seconds = LENGTH_S) {
  await page.getByRole('button', { name: `Profile now: ${service}` }).first()
    .click();
  await page.getByLabel('Seconds').fill(String(seconds));
}
const begin = page =>
  page.getByRole('button', { name: 'Start', exact: true }).click();
/* A host, or each of them, once the form knows where the service runs. */
const choose = async (page, name) => host(page).selectOption(
  name ?? await host(page).getByRole('option', { name: EACH })
    .getAttribute('value'));

const joined = page =>
  page.getByRole('table').filter({ hasText: 'Minutes until' });

const tests = {
  async the_system_page_tells_how_far_a_host_that_joined_has_come() {
    const page = await inside('/ui/system');
    const row = joined(page).getByRole('row').nth(1);
    await row.waitFor();
    same(await joined(page).getByRole('row').count(), 2);
    same((await row.getByRole('cell').allTextContents()).map(t => t.trim()),
      ['2 hr. ago', '4 hr. ago', '', '3.00 MiB', '2 hr. ago', '2',
        '3.6 s behind']);
    if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT,
      fullPage: true });
  },
  the_system_page_with_hosts_has_no_violation: judged('/ui/system', page =>
    joined(page).waitFor()),
  async the_hosts_of_a_service_can_be_chosen() {
    const page = await inside('/ui/services');
    await form(page, 'both');
    await host(page).waitFor();
    const offered = await host(page).getByRole('option').allTextContents();
    same([offered.slice(0, 2), offered.length, EACH.test(offered[2])],
      [HOSTS, 3, true]);
  },
  async a_service_of_one_host_leaves_no_choice() {
    const page = await inside('/ui/services');
    const looked = page.waitForResponse(/services\/alone\/processes/);
    await form(page, 'alone');
    await looked;
    await page.locator('.foreseen').waitFor({ state: 'attached' });
    same(await host(page).count(), 0);
  },
  async a_chosen_host_takes_the_profile_and_is_told() {
    const page = await inside('/ui/services');
    await form(page, 'both');
    await choose(page, 'second');
    await begin(page);
    await page.locator('.crumbs', { hasText: 'on second' }).waitFor();
    await page.locator('[part=rows] tr').first().waitFor();
  },
  async each_host_has_a_profile_of_its_own_that_the_page_shows() {
    const page = await inside('/ui/services');
    await form(page, 'both', SEEN_S);
    await choose(page);
    await begin(page);
    await page.waitForURL('**/ui/s/both?*');
    await Promise.all(HOSTS.map(name =>
      running(page).getByRole('link', link(name)).waitFor()));
    await running(page).waitFor({ state: 'detached' });
    await page.locator('.captures summary').click();
    for (const name of HOSTS)
      await page.locator('.captures td',
        { hasText: `capture of ${SEEN_S} s on ${name}` }).first().waitFor();
    await page.locator('[part=rows] tr').first().waitFor();
  },
  async the_page_of_a_service_shows_what_was_begun_there() {
    const page = await inside('/ui/s/both?type=cpu');
    await page.locator('[part=rows] tr').first().waitFor();
    await form(page, 'both', SEEN_S);
    await choose(page);
    await begin(page);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await running(page).getByRole('link', link(HOSTS[1])).click();
    await page.locator('.crumbs', { hasText: `on ${HOSTS[1]}` }).waitFor();
    await page.getByRole('progressbar').waitFor();
    await page.locator('[part=rows] tr').first().waitFor();
    const other = page.getByLabel('Compare with').getByRole('option',
      { name: HOSTS[0] });
    same(await other.count() > 0, true);
  },
  the_choice_of_a_host_has_no_violation: judged('/ui/services',
    async page => {
      await form(page, 'both');
      await host(page).waitFor();
    }),
};
await run(tests);
