/*
 * A service's settings and uploads as people use them.
 *
 *	EXE	the program of the service demo, which runs
 *	ID	a capture of it
 */
import { BASE, fits, inside, judged, KEY, run, same, signIn, visit }
  from './browser.mjs';

const { EXE, ID } = process.env;
const heading = (page, name) => page.getByRole('heading', { name }).waitFor();
const press = (at, name) =>
  at.getByRole('button', { name, exact: true }).click();
const part = (page, name) => page.locator('section.part', { has:
  page.getByRole('heading', { name }) });
const dialog = page => page.locator('dialog[open]');
const api = async path => (await fetch(BASE + path, {
  headers: { Authorization: `Bearer ${KEY}` } })).json();

const tests = {
  async a_service_is_added_and_shows_what_it_matches() {
    const page = await inside('/ui/services');
    await press(page, 'Add a service');
    const form = dialog(page);
    await form.getByLabel('Name', { exact: true }).fill('again');
    await form.getByLabel('Match').fill(`exe = ${EXE}`);
    await form.getByText('More', { exact: true }).click();
    await form.getByLabel('Labels').fill('team = web\nround = 1');
    await press(form, 'Add a service');
    await page.getByText(`exe = ${EXE}`).waitFor();
    await part(page, 'Processes that match now').getByText(EXE).first()
      .waitFor();
    same((await api('/api/v1/services/again')).labels,
      { team: 'web', round: '1' });
  },
  async what_a_match_selects_is_shown_while_it_is_typed() {
    const page = await inside('/ui/services');
    await press(page, 'Add a service');
    const form = dialog(page), match = form.getByLabel('Match');
    await form.getByText('Choose from what runs').waitFor();
    /* One row for each program, the busiest first. */
    const rows = form.locator('.matching button');
    const [texts, matches] = [await rows.allTextContents(), await
    rows.evaluateAll(all => all.map(b => b.title.split('\n')[0]))];
    const cpus = texts.map(t => Number(/^[\d.]+(?= CPUs)/.exec(t)));
    same([cpus, matches], [cpus.toSorted((a, b) => b - a),
      [...new Set(matches)]]);
    await match.fill('exe = /nowhere');
    await form.getByText('No process matches now').waitFor();
    await match.fill('exe = nowhere');
    await form.getByText('absolute path of an executable').first().waitFor();
    await match.fill(`exe = ${EXE}`);
    await form.getByText('One process matches').waitFor();
    await form.locator('.matching li').getByText(EXE).waitFor();
  },
  async a_match_is_chosen_from_what_runs() {
    const page = await inside('/ui/services');
    await press(page, 'Add a service');
    const form = dialog(page);
    await form.getByLabel('Match').fill('bin/demo');
    await form.locator('.matching button').getByText(EXE).first().click();
    same([await form.getByLabel('Match').inputValue(),
      await form.getByLabel('Name', { exact: true }).inputValue()], [`exe = ${EXE}`, 'demo']);
    await form.getByText('One process matches').waitFor();
  },
  async a_service_is_changed_and_keeps_the_rest() {
    const page = await inside('/ui/s/again/settings');
    await press(page, 'Edit');
    const form = dialog(page);
    await form.getByLabel('Description').fill('Once more');
    same(await form.getByLabel('Match').inputValue(), `exe = ${EXE}`);
    await press(form, 'Edit');
    await page.getByText('Once more').waitFor();
    const { match, labels } = await api('/api/v1/services/again');
    same([match, labels], [{ exe: EXE }, { team: 'web', round: '1' }]);
  },
  async what_the_server_refuses_stays_to_be_put_right() {
    const page = await inside('/ui/services');
    await press(page, 'Add a service');
    const form = dialog(page);
    await form.getByLabel('Name', { exact: true }).fill('wrong');
    await form.getByLabel('Match').fill('color = red');
    await press(form, 'Add a service');
    await form.getByRole('alert').waitFor();
    await form.getByLabel('Match').fill('nothing');
    await press(form, 'Add a service');
    await form.getByText('should be a name, = and a value').waitFor();
    same(await form.getByLabel('Name', { exact: true }).inputValue(), 'wrong');
  },
  async a_service_is_removed_when_one_is_sure() {
    const page = await inside('/ui/s/again/settings');
    await press(page, 'Remove');
    await press(dialog(page), 'Remove');
    await heading(page, 'Services');
    same((await api('/api/v1/services/again')).error_code, 'UnknownService');
  },
  async a_trigger_is_added_edited_and_removed() {
    const page = await inside('/ui/s/demo/settings');
    const triggers = part(page, 'Triggers');
    await press(triggers, 'Add a trigger');
    const form = dialog(page);
    await form.getByLabel('Name', { exact: true }).fill('hot');
    await form.locator('datalist option', { hasText: 'matmul' }).first()
      .waitFor({ state: 'attached' });
    await form.getByLabel('What').selectOption('cpu');
    await form.getByLabel('Percent').fill('8000');
    await form.getByLabel('Seconds', { exact: true }).fill('7');
    await press(form, 'Add a trigger');
    await triggers.getByText('CPU ≥ 8,000 %').waitFor();
    const { items } = await api('/api/v1/services/demo/triggers');
    same([items[0].when, items[0].capture.durationSeconds],
      [{ cpu: { percent: 8000 } }, 7]);
    await press(triggers, 'Edit');
    same([await form.getByLabel('What').inputValue(),
      await form.getByLabel('Percent').inputValue(),
      await form.getByLabel('Seconds', { exact: true }).inputValue()],
    ['cpu', '8000', '7']);
    await form.getByLabel('What').selectOption('rss');
    await form.getByLabel('Bytes').fill('1.2.3');
    await press(form, 'Edit');
    await form.getByText('should be a size').waitFor();
    await form.getByLabel('Bytes').fill('1 TiB');
    await form.getByText('More', { exact: true }).click();
    await form.getByLabel('Enabled').uncheck();
    await press(form, 'Edit');
    await triggers.getByText('RSS ≥ 1.00 TiB').waitFor();
    await triggers.getByText('(off)').waitFor();
    const [{ id, when, capture, enabled }, ...others] =
      (await api('/api/v1/services/demo/triggers')).items;
    same([id, when, capture.durationSeconds, enabled, others],
      [items[0].id, { rss: { bytes: 2 ** 40 } }, 7, false, []]);
    await press(triggers, 'Remove');
    await press(dialog(page), 'Remove');
    await triggers.getByText('None.').waitFor();
  },
  async continuous_profiling_is_turned_on_and_off() {
    const page = await inside('/ui/s/demo/settings');
    const it = part(page, 'Continuous profiling');
    await press(it, 'Turn on');
    const types = dialog(page).getByRole('group', { name: 'Types' });
    same(await types.getByLabel('cpu').isChecked(), true);
    await types.getByLabel('block').check();
    await press(dialog(page), 'Turn on');
    await it.getByText('cpu at 19 samples per second, block').waitFor();
    await press(it, 'Turn off');
    await press(dialog(page), 'Turn off');
    await it.getByText('It is off.').waitFor();
  },
  async each_type_tells_what_came_of_its_last_capture() {
    const page = await inside('/ui/s/demo/settings');
    const row = name => part(page, 'Types of profiles').locator('tr', {
      has: page.getByRole('link', { name, exact: true }) });
    await row('cpu').getByText(/\d samples/).waitFor();
    await row('alloc').getByText('never').waitFor();
  },
  async a_capture_is_made_a_baseline() {
    const page = await inside(`/ui/p/${ID}`);
    await press(page, 'Make a baseline');
    await dialog(page).getByLabel('Label').fill('v1');
    await press(dialog(page), 'Make a baseline');
    const baselines = part(page, 'Baselines');
    await baselines.getByRole('link', { name: 'v1' }).waitFor();
    await press(baselines, 'Check the newest capture');
    await baselines.getByRole('alert').getByText('no later capture').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await fits(page);
    await press(baselines, 'Remove');
    await press(dialog(page), 'Remove');
    await baselines.getByText('None.').waitFor();
  },
  async a_file_is_uploaded_and_opens() {
    const page = await inside('/ui/upload?service=demo');
    await page.locator('input[type=file]').setInputFiles({ name: 'a.folded',
      mimeType: 'text/plain', buffer: Buffer.from('main;from_a_file 7\n') });
    await press(page, 'Upload');
    await page.getByText('from_a_file').first().waitFor();
    /* The file does not say when its samples were taken. */
    same([await page.getByRole('link', { name: 'Heat map' }).count(),
      await page.getByText('Threads', { exact: true }).count()], [0, 0]);
  },
  async a_file_of_an_unknown_service_is_uploaded_once_that_is_added() {
    const page = await inside('/ui/upload?service=newcomer');
    await page.locator('input[type=file]').setInputFiles({ name: 'a.folded',
      mimeType: 'text/plain', buffer: Buffer.from('main;from_a_file 7\n') });
    await press(page, 'Upload');
    await press(page, 'Add the service and upload');
    await page.getByText('from_a_file').first().waitFor();
  },
  async a_file_is_dropped() {
    const page = await inside('/ui/upload?service=demo');
    const dropped = await page.evaluateHandle(() => {
      const all = new DataTransfer();
      all.items.add(new File(['main;dropped 7\n'], 'b.folded'));
      return all;
    });
    await page.dispatchEvent('.drop', 'drop', { dataTransfer: dropped });
    await page.getByText('b.folded').waitFor();
    await press(page, 'Upload');
    await page.getByText('dropped').first().waitFor();
  },
  async a_file_that_is_no_profile_is_told() {
    const page = await inside('/ui/upload?service=demo');
    await page.locator('input[type=file]').setInputFiles({ name: 'no.txt',
      mimeType: 'text/plain', buffer: Buffer.from([0, 1, 2, 3]) });
    await press(page, 'Upload');
    await page.getByRole('alert').waitFor();
  },
  async who_may_only_look_sees_no_buttons() {
    const reply = await fetch(BASE + '/api/v1/tokens', { method: 'POST',
      headers: { Authorization: `Bearer ${KEY}`,
        'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'looks', role: 'viewer' }) });
    const page = await visit('/ui/s/demo/settings');
    await signIn(page, (await reply.json()).key);
    await heading(page, 'Baselines');
    await page.getByText('It is off.').waitFor();
    same(await page.locator('main button').count(), 0);
  },
  the_settings_have_no_violation: judged('/ui/s/demo/settings', async page => {
    await page.getByText('It is off.').waitFor();
    await page.getByText(EXE).first().waitFor();
  }),
  a_form_with_lines_has_no_violation: judged('/ui/services', async page => {
    await press(page, 'Add a service');
    await dialog(page).getByLabel('Match').waitFor();
  }),
  uploads_have_no_violation: judged('/ui/upload', async page =>
    heading(page, 'Upload a profile')),
};
await run(tests);
