/*
 * Asks axe-core for violations of WCAG 2.2, levels A and AA, in each state of
 * the page; in the dark theme, for those of colours. The findings are left in
 * #report.
 */
(async () => {
  const $ = part => document.querySelector(`[part="${part}"]`), lines = [];
  const press = key => $('canvas').dispatchEvent(new KeyboardEvent('keydown',
    { key, bubbles: true, cancelable: true }));
  const close = () => {
    for (const d of document.querySelectorAll('dialog[open]')) d.close();
    if ($('export')) $('export').open = false;
  };
  const find = text => {
    $('search').value = text;
    $('search').dispatchEvent(new Event('input'));
  };
  const STATES = {
    at_first: () => {},
    searched_and_zoomed: () => {
      find('scan|work');
      stoker.flame.on.zoom(stoker.tree.view(1));
    },
    of_a_function: () => {
      press('Escape');
      document.querySelector('[part=rows] button').click();
    },
    as_sandwich: () => press('s'),
    with_formats: () => press('e'),
    with_notes: () => {
      for (const d of document.querySelectorAll('[part=quality] details'))
        d.open = true;
    },
    with_keys: () => press('?'),
    copied: () => { $('toast').textContent = 'Name copied'; },
    copied_by_hand: () => {
      $('by-hand-text').value = 'main';
      $('by-hand').showModal();
    },
  };
  const ONE = { at_first: STATES.at_first };
  const isGraph = typeof stoker === 'object';

  const THEMES = {
    light: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
    dark: ['color-contrast', 'link-in-text-block'],
  };

  async function look(name, rules) {
    const { violations } = await axe.run(document, { runOnly: rules });
    const bad = violations.map(v => `${v.id}: ` + v.nodes.map(n =>
      n.target.join(' ') + ' ' + n.any.map(a => a.message).join('; '))
      .join(' | '));
    lines.push(bad.length > 0 ? `not ok ${name}: ${bad.join(' || ')}`
      : `ok ${name}`);
  }

  for (const [theme, rules] of Object.entries(THEMES)) {
    document.documentElement.dataset.theme = theme;
    for (const [name, enter] of Object.entries(isGraph ? STATES : ONE)) {
      close();
      enter();
      await look(`${theme}_${name}`, rules);
    }
    close();
    if (isGraph) press('Escape');
  }
  const report = document.createElement('script');
  report.type = 'text/plain';
  report.id = 'report';
  report.textContent = '\n' + lines.join('\n') + '\nall_were_looked_at\n';
  document.body.append(report);
})();
