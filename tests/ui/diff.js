/* The page of two profiles, as the program writes it. */
(() => {
  const { flame, tree } = stoker;
  const $ = part => document.querySelector(`[part="${part}"]`);
  const node = name => [...tree.name].findIndex((n, i) =>
    tree.nameOf(i) === name);
  const kind = name => {
    return tree.changeOf(node(name));
  };
  const fill = name => flame.fills.node(node(name));
  const at = stoker.local;
  const cells = () => [...document.querySelectorAll('[part=rows] tr')].map(tr =>
    [tr.querySelector('button').title, ...[...tr.cells].slice(0, 3)
      .map(td => td.textContent)].join(' '));
  const press = key => $('canvas').dispatchEvent(new KeyboardEvent('keydown',
    { key, bubbles: true, cancelable: true }));
  const barOf = (on, i) => on.rows[tree.depth[i]].find(b =>
    i >= b.node && i < b.end);
  /* In percent of the width of each picture. */
  const partsOf = i => stoker.sides().panes.map(p =>
    Math.round(100 * (barOf(p, i)?.w ?? 0) / p.width));

  run([
    ['table_has_both_sides_the_change_and_a_mark_where_it_is_sure', () =>
      same(cells(), ['scan 800.00 ms/s 1.60 s/s ▲ +100.0%',
        'hash 0 ns/s 600.00 ms/s ▲ new', 'old 400.00 ms/s 0 ns/s ▼ gone'])],
    ['rows_within_chance_are_folded_away', () => {
      const folded = $('more').textContent;
      $('more').click();
      same([folded, $('more').hidden, cells().slice(3, 6)],
        [`Show ${cells().length - 3} more within chance`, true, [
          'render 800.00 ms/s 780.00 ms/s −2.5%', 'once 0 ns/s 2.00 ms/s new',
          'serve 2.00 s/s 2.00 s/s +0.0%']]);
    }],
    ['the_verdict_comes_first_and_its_names_select_functions', () => {
      const names = [...$('verdict').querySelectorAll('button')];
      same([$('verdict').querySelector('strong').textContent,
        $('verdict').className, names.map(b => b.textContent),
        $('verdict').getBoundingClientRect().top <
          $('canvas').getBoundingClientRect().top],
      ['costs more', 'more', ['scan', 'hash'], true]);
      names[0].click();
      same([new URLSearchParams(location.hash.slice(1)).get('fn'),
        $('chosen').textContent], ['scan', 'scan']);
      press('Escape');
    }],
    ['functions_of_the_verdict_have_outlines_of_its_colour', () => same(
      [...tree.listed].map(([n, kind]) => [tree.names[n], kind]).sort(),
      [['hash', 'more'], ['old', 'less'], ['scan', 'more']])],
    ['a_function_that_costs_more_with_its_calls_has_a_row_for_that', () => {
      const at = node('serve'), name = tree.name[at];
      tree.risen.set(name, { name, pValue: 0.001 });
      const row = tree.top(tree.view(0)).find(r => r.isTotal);
      const mark = tree.numbers(row, tree.view(0))[2].text[0];
      tree.risen.delete(name);
      same([row.name, row.now, row.base, mark],
        [name, tree.total[at], tree.baseTotal[at], '▲']);
    }],
    ['titles_of_columns_say_which_side_is_which', () => same(
      [...document.querySelectorAll('[part=top] th')].map(th => th.textContent.trim()),
      ['Base', 'Comparison', 'Change', 'Function', 'Package'])],
    ['changes_have_kinds_and_what_may_be_chance_is_neutral', () => same(
      ['scan', 'hash', 'old', 'render', 'serve'].map(n => kind(n).kind),
      ['more', 'new', 'gone', 'same', 'same'])],
    ['one_sample_against_none_is_pale', () => {
      same([kind('once').kind, kind('once').strength < 0.5,
        kind('hash').strength], ['new', true, 1]);
    }],
    ['more_less_new_and_gone_have_colours_of_their_own', () =>
      same(new Set(['scan', 'hash', 'old', 'serve'].map(fill)).size, 4)],
    ['labels_read_on_every_colour_of_both_themes', () => {
      const light = c => c.match(/\d+/g).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0.05);
      const hex = c => 'rgb(' + [1, 3, 5].map(i =>
        parseInt(c.slice(i, i + 2), 16)).join() + ')';
      for (const theme of ['light', 'dark']) {
        document.documentElement.dataset.theme = theme;
        const style = getComputedStyle(document.documentElement);
        const read = n => hex(style.getPropertyValue('--flame-' + n).trim());
        for (const name of ['same', 'more', 'less', 'new', 'gone']) {
          const [a, b] = [light(read(name)), light(read('ink'))];
          const ratio = Math.max(a, b) / Math.min(a, b);
          if (ratio < 4.5) throw new Error(`${theme} ${name} ${ratio}`);
        }
      }
      document.documentElement.dataset.theme = 'light';
    }],
    ['what_is_gone_has_a_width_by_the_base', () => {
      const width = () => tree.width[node('old')];
      const seen = [width() > 0];
      press('w');
      seen.push(width() > 0, location.hash);
      press('w');
      seen.push(width() > 0 && tree.width[node('hash')] > 0);
      press('w');
      same([...seen, width() > 0, location.hash],
        [false, true, '#shape=before', true, false, '']);
    }],
    ['a_frame_tells_both_values_and_the_change', () => same(
      tree.describe(node('scan'), tree.view(0))[0],
      'Total 800.00 ms/s → 1.60 s/s: +800.00 ms/s (+100.0%)')],
    ['cost_is_unknown_where_no_duration_is', () => same(
      tree.constructor.facts({
        base: { total: 2e9, durationMs: 0, service: 'api',
          startedAt: '2026-01-14T08:00:00.000Z' },
        total: 3e9, durationMs: 1000, unit: 'nanoseconds', service: 'web',
        startedAt: '2026-01-15T08:00:00.000Z',
        overallDelta: null, overallDeltaLow: null, overallDeltaHigh: null,
      }),
      [['Base', `api, ${at('2026-01-14T08:00:00Z')}, 2.00 s`,
          '2026-01-14 08:00:00 UTC'],
        ['Comparison', `web, ${at('2026-01-15T08:00:00Z')
        }, 3.00 s in 1.00 s`, '2026-01-15 08:00:00 UTC'],
        ['Cost per second', 'unknown']])],
    ['callers_and_callees_are_of_both_and_the_function_is_what_its_list_says',
      () => {
        const { callers, callees } = stoker, at = tree.names.indexOf('scan');
        const up = callers(tree, at), down = callees(tree, at);
        const of = t => [...t.name].map((n, i) => [t.names[n],
          t.total[i] / 1e7, t.baseTotal[i] / 1e7, t.sure[i]]);
        same([of(up), of(down)], [[['scan', 800, 400, 1],
          ['parse', 800, 400, 1], ['main', 800, 400, 1]],
        [['scan', 800, 400, 1]]]);
      }],
    ['legend_names_every_colour_and_how_it_is_compared', () => same(
      [...$('legend').children].map(li => li.textContent),
      ['costs less', 'within chance', 'costs more', 'new', 'gone',
        'Compared per second. ▲ ▼ and outlines: more than chance'])],
    ['side_by_side_each_profile_has_its_own_widths', () => {
      press('p');
      same([['scroll', 'sides-panes', 'shape'].map(part => $(part).hidden),
        ['scan', 'hash', 'old'].map(n => partsOf(node(n))), location.hash],
      [[true, false, true], [[20, 32], [0, 12], [10, 0]], '#view=sides']);
    }],
    ['side_by_side_zoom_search_and_selection_are_shared', () => {
      const { panes } = stoker.sides(), at = node('parse');
      const x = barOf(panes[0], at).x + 5, y = panes[0].top(tree.depth[at]) + 5;
      const click = new PointerEvent('click', { bubbles: true });
      Object.defineProperty(click, 'offsetX', { value: x });
      Object.defineProperty(click, 'offsetY', { value: y });
      panes[0].canvas.dispatchEvent(click);
      $('search').value = 'scan';
      $('search').dispatchEvent(new Event('input'));
      same([panes.map(p => [p.view.first === at, p.chosen === at,
        p.marks.frames]), $('chosen').textContent, ['base', 'comparison'].map(
        side => $(`${side}-title`).textContent)],
      [[[true, true, 1], [true, true, 1]], 'parse',
        ['Base · 30.0% of all · 100.0% in parse · 66.7% matched',
          'Comparison · 32.1% of all · 100.0% in parse · 100.0% matched']]);
    }],
    ['side_by_side_what_is_left_out_is_left_out_of_both', () => {
      $('search').value = 'serve';
      $('search').dispatchEvent(new Event('input'));
      $('found').querySelector('[value=hide-text]').click();
      same(stoker.sides().panes.map(p => [p.tree.n < tree.n, [...p.tree.name]
        .some(n => p.tree.names[n] === 'serve')]),
      [[true, false], [true, false]]);
      $('reset').click();
      press('p');
      same([$('scroll').hidden, $('sides-panes').hidden, location.hash],
        [false, true, '']);
    }],
  ]);
})();
