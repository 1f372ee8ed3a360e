/* Uses the page as a person does; the tree is that of small.json. */
(() => {
  const { Tree, callees, callers, flame, tree, matcher, packageColor, percent,
    quantity, shorten } = stoker;
  const $ = part => document.querySelector(`[part="${part}"]`);
  const held = () => document.activeElement.getAttribute('part');
  const tests = [], test = (name, body) => tests.push([name, body]);
  const at = i => tree.nameOf(i);
  const hash = () => new URLSearchParams(location.hash.slice(1));
  const press = (key, target = $('canvas')) => target.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const once = (target, event) => new Promise(done =>
    target.addEventListener(event, done, { once: true }));

  function type(text) {
    $('search').value = text;
    $('search').dispatchEvent(new Event('input'));
  }

  /* Sends a click or move to the middle of the bar that shows the node. */
  function mouse(event, node) {
    const bar = flame.rows[tree.depth[node]]
      .find(b => node >= b.node && node < b.end);
    const e = new PointerEvent(event, { bubbles: true });
    const y = flame.top(tree.depth[node]) + 5 - flame.scroll.scrollTop;
    Object.defineProperty(e, 'offsetX', { value: bar.x + bar.w / 2 });
    Object.defineProperty(e, 'offsetY', { value: y });
    $('canvas').dispatchEvent(e);
  }

  /* A sandboxed page from a file must not follow links, even to itself. */
  function follow(fragment) {
    history.pushState(null, '', fragment);
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  }

  const rows = () => [...$('rows').querySelectorAll('tr')].map(tr =>
    [...tr.cells].map(td => td.textContent));
  const names = () => [...$('rows').querySelectorAll('button')]
    .map(b => b.title.split('\n')[0]);
  const head = column => document.querySelector(`[part=top] [data-sort=${column}]`);

  function pixel(node) {
    flame.paint();
    const bar = flame.rows[tree.depth[node]].find(b => b.node === node);
    const y = flame.top(tree.depth[node]) + 2 - flame.scroll.scrollTop;
    return [...flame.context.getImageData((bar.x + 2) * flame.ratio,
      y * flame.ratio, 1, 1).data].slice(0, 3);
  }

  /* Contrast of two colours. Source: WCAG 2.2, relative luminance. */
  function contrast(a, b) {
    const light = c => c.map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0.05);
    const [x, y] = [light(a), light(b)];
    return Math.max(x, y) / Math.min(x, y);
  }

  function rgb(color) {
    const c = document.createElement('canvas').getContext('2d');
    c.fillStyle = color;
    c.fillRect(0, 0, 1, 1);
    return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3);
  }

  function everyColorReads() {
    const { colors } = flame, bad = [];
    const style = getComputedStyle(document.documentElement);
    const [light, chroma] = ['light', 'chroma'].map(k =>
      Number(style.getPropertyValue('--flame-' + k)));
    const check = (what, a, b) => {
      const c = contrast(rgb(a), rgb(b));
      if (c < 4.5) bad.push(`${what} ${c.toFixed(2)}`);
    };
    for (let i = 0; i < 360; i++)
      check('package ' + i, packageColor('p' + i, 'f' + i, light, chroma),
        colors.ink);
    check('hit', colors.hit, colors['hit-ink']);
    check('miss', colors.miss, colors['miss-ink']);
    check('hit beside miss', colors.hit, colors.miss);
    check('plain', colors.plain, colors.ink);
    same(bad, []);
  }

  /* --- the model ---------------------------------------------------------- */

  test('subtrees_and_parents_follow_from_depths', () => {
    same([...tree.parent], [-1, 0, 1, 1, 3, 4, 5, 5, 1, 1, 1, 1]);
    same([...tree.end], [12, 12, 3, 8, 8, 8, 7, 8, 9, 10, 11, 12]);
  });
  test('narrow_siblings_share_a_bar', () => {
    const row = tree.bars(tree.view(0), 1000)[2];
    same(row.map(b => [at(b.node), b.count, Math.round(b.w)]),
      [[at(2), 1, 300], ['work', 1, 600], ['thin_0', 3, 1], ['leaf', 1, 99]]);
  });
  test('bars_of_a_view_never_overlap', () => {
    for (const row of tree.bars(tree.view(0), 777))
      row.reduce((x, b) => {
        if (b.x < x - 1e-6) throw new Error(`${b.x} < ${x}`);
        return b.x + b.w;
      }, 0);
  });
  test('nested_matches_count_once', () => {
    const marks = tree.mark(matcher('work').test);
    same([marks.total, marks.frames], [6e8, 2]);
  });
  test('recursion_counts_once_in_the_table', () => {
    const work = tree.top(tree.view(0))
      .find(r => tree.names[r.name] === 'work');
    same([work.self, work.total], [3e8, 6e8]);
  });
  test('a_path_of_names_finds_its_node', () => {
    for (let i = 0; i < tree.n; i++) same(tree.find(tree.path(i)), i);
    same(tree.find(['main', 'gone', 'leaf']), 1);
  });
  test('direction_marks_in_names_are_made_visible', () =>
    same(tree.names[9], '<img src=x onerror=alert(1)>\ufffd'));
  test('quantities_have_units', () => same(
    [quantity(1.5e9, 'nanoseconds'), quantity(3 * 2 ** 20, 'bytes'),
      quantity(12345, 'count'), quantity(7, 'widgets'), quantity(0, 'bytes')],
    ['1.50 s', '3.00 MiB', '12,345', '7 widgets', '0 B']));
  test('percents_never_hide_what_is_there', () =>
    same([percent(1, 1e6), percent(0, 5), percent(5, 0), percent(1, 3)],
      ['<0.01%', '0.00%', '0.00%', '33.3%']));
  for (const [max, name, want] of [
    [9, 'main', 'main'],
    [26, 'std::vector<std::pair<int, long>>::push_back(int&&)',
      'std::vector<…>::push_back'],
    [24, 'a::b::Functor::operator()(int, char const*) const',
 'a::b::Functor…operator()'],
    [40, 'ns::(anonymous namespace)::run(std::string const&)',
      'ns::(anonymous namespace)::run(…)'],
    [20, 'github.com/x/y/store.(*DB).Get', 'store.(*DB).Get'],
    [12, 'shop::cart::add_to_the_cart(int)', 'add_to_the_…'],
    [25, 'alpha::beta::gamma::delta_function', 'alpha::bet…delta_function'],
    [20, 'operator<< <char>(x, y, z)', 'operator<< <…>(…)'],
    [7, 'unbalanced<int', 'unbala…'],
    [12, 'msort_with_tmp.part.0', 'msort_with_…'],
    [12, 'a.long.name.of.main.run.constprop.0', 'run.constpr…'],
    [12, 'libz.so.1.2.13+0x4970', 'libz…+0x4970'],
    [11, 'libz.so.1.2.13+0x4970', 'libz.so.1.…'],
    [20, '<alloc::vec::Vec<T> as Iterator>::fold::h8a6d7b1c2e3f4a5b',
      'alloc::vec::Vec…fold'],
    [24, 'tokio::task::run::{{closure}}::<Upgradeable<Stream>>',
      'run::{{closure}}::<…>'],
  ]) test(`cut_to_${max}: ${name}`, () => same(shorten(name, max), want));

  /* --- the page ----------------------------------------------------------- */

  test('header_tells_what_was_profiled', () => {
    same($('service').textContent + ' ' + $('type').textContent, 'shop cpu');
    same([...$('facts').querySelectorAll('dd')].map(d => d.textContent),
      [stoker.clock(Date.parse('2026-01-15T08:00:00Z')), '5.00 s', '100',
        '1.00 s']);
    same($('facts').querySelector('dd').title, '2026-01-15 08:00:00 UTC');
  });
  test('a_poor_profile_says_so_first_with_its_reasons_and_notes', () => {
    const part = $('quality');
    same([part.hidden, part.className, part.querySelector('strong').textContent,
      [...part.querySelectorAll('li')].map(li => li.textContent)],
    [false, 'poor', 'This profile is poor: do not rely on it.',
      ['none of it could be read: <b>x</b>', 'records were lost']]);
    const [top, below] = [part, $('canvas')].map(e =>
      e.getBoundingClientRect().top);
    same([top < below, part.querySelectorAll('b').length], [true, 0]);
  });
  test('a_saved_page_offers_what_it_can_make_and_no_dead_link', () =>
    same([...$('formats').querySelectorAll('a, button')].map(e =>
      e.tagName + ' ' + e.textContent), ['BUTTON JSON', 'BUTTON PNG']));
  test('e_opens_the_formats_and_escape_closes_them', () => {
    press('e');
    same([$('export').open, document.activeElement.textContent],
      [true, 'JSON']);
    press('Escape', document.activeElement);
    same([$('export').open, document.activeElement.tagName],
      [false, 'SUMMARY']);
    $('canvas').focus();
  });
  test('first_paint_is_timed', () => {
    const { paintMs } = document.body.dataset; /* 0.0 in virtual time */
    if (!/^\d+\.\d$/.test(paintMs)) throw new Error(paintMs);
  });
  test('nothing_from_a_name_becomes_markup', () =>
    same(document.querySelectorAll('img').length, 0));
  test('click_zooms_and_the_address_says_so', () => {
    mouse('click', 4);
    same([flame.view.first, hash().getAll('z')],
      [4, ['main', 'work', 'a/b&c;d']]);
    same([...document.querySelectorAll('[part=crumbs] button')].map(b => b.title),
      ['all', 'main', 'work', 'a/b&c;d']);
  });
  test('backspace_zooms_out_a_step', () => {
    press('Backspace');
    same([flame.view.first, hash().getAll('z')], [3, ['main', 'work']]);
  });
  test('back_in_the_browser_is_the_zoom_before', async () => {
    history.back();
    await once(window, 'hashchange');
    same(flame.view.first, 4);
  });
  test('table_is_of_the_view', () => same(names().sort(),
    ['work', 'leaf', 'a/b&c;d', tree.names[9]].sort()));
  test('its_percentages_are_of_the_view', () => {
    const row = rows().find(r => r[2] === 'leaf');
    same([row.slice(0, 2), $('top-title').textContent], [['50.0%', '50.0%'],
      'Top functions of this view, in percent of it']);
    same($('rows').querySelector('td').title, '250.00 ms (25.0%) of all');
  });
  test('a_frame_tells_its_part_of_the_view_too', () => {
    flame.choose(6);
    flame.on.choose(6);
    same($('numbers').textContent, 'libwork.so · Total 250.00 ms (25.0%), ' +
      '50.0% of the view, about 25 samples · Self 250.00 ms (25.0%) · ' +
      'all its 2 frames: total 349.00 ms (34.9%), self 349.00 ms (34.9%)');
  });
  test('reset_shows_everything', () => {
    $('reset').click();
    same([flame.view.first, location.hash, $('reset').disabled],
      [0, '', true]);
  });
  test('click_on_a_narrow_bar_spreads_it_out', () => {
    mouse('click', 8);
    same([flame.view.first, flame.view.end, hash().get('to')],
      [8, 11, 'thin_2']);
    same(flame.rows[2].length, 3);
    press('Escape');
  });
  test('tooltip_has_name_package_total_and_self', () => {
    mouse('pointermove', 2);
    same([...$('tip').children].map(e => e.textContent),
      ['parse<std::string>(char const*)', 'libparse.so',
        'Total 300.00 ms (30.0%), about 30 samples',
        'Self 300.00 ms (30.0%)']);
  });
  test('a_frame_tells_where_it_is_written_if_that_is_known', () => {
    mouse('pointermove', 3);
    same($('tip').children[1].textContent, 'shop · /src/shop/work.c:40');
    flame.on.choose(3);
    same($('numbers').textContent.slice(0, 27), 'shop · /src/shop/work.c:40 ');
  });
  test('narrow_frames_are_one_neutral_block', () => {
    const bar = flame.rows[2].find(b => b.count > 1);
    same([bar.node, bar.count, flame.colorsOf(bar).fill],
      [8, 3, flame.colors.narrow]);
  });
  test('tooltip_of_a_narrow_bar_lists_the_heaviest_first', () => {
    mouse('pointermove', 8);
    same([...$('tip').children].slice(0, 2).map(e => e.textContent),
      ['3 narrow frames: 1.00 ms (0.10%)', '0.04% thin_1']);
    $('canvas').dispatchEvent(new PointerEvent('pointerleave'));
    same($('tip').hidden, true);
  });
  test('arrows_walk_the_tree', () => {
    press('Home');
    const walk = ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowLeft',
      'ArrowLeft', 'ArrowLeft', 'ArrowUp', 'ArrowUp', 'ArrowUp'];
    same(walk.map(key => press(key) && 0 || flame.chosen),
      [1, 3, 8, 3, 2, 2, 1, 0, 0]);
  });
  test('a_leaf_has_no_callee_to_go_to', () => {
    flame.choose(2);
    press('ArrowDown');
    same(flame.chosen, 2);
  });
  test('enter_zooms_and_escape_resets', () => {
    flame.choose(3);
    press('Enter');
    same(flame.view.first, 3);
    press('Escape');
    same(flame.view.first, 0);
  });
  test('the_chosen_frame_is_announced_in_full', () => {
    press('ArrowRight');
    press('Home');
    press('ArrowDown');
    same($('live').textContent, 'main. Total 1.00 s (100.0%), about 100 ' +
      'samples · Self 0 ns (0.00%)');
  });
  test('slash_focuses_search_and_escape_clears_it', () => {
    press('/');
    same(held(), 'search');
    type('leaf');
    press('Escape', $('search'));
    same([$('search').value, held()], ['', 'canvas']);
  });
  test('question_mark_shows_the_keys', () => {
    press('?');
    same($('keys').open, true);
    $('keys').close();
  });
  test('search_tells_the_percent_matched', () => {
    type('^(work|leaf)$');
    same([$('matched').textContent, hash().get('q')],
      ['69.9% matched · 699.00 ms · 4 frames', '^(work|leaf)$']);
  });
  test('and_the_percent_of_a_view', () => {
    flame.on.zoom(tree.view(4));
    same($('matched').textContent,
      '69.9% matched, 100.0% of the view · 699.00 ms · 4 frames');
    flame.on.zoom(tree.view(0));
  });
  test('search_filters_the_table', () =>
    same(names().sort(), ['leaf', 'work']));
  test('n_goes_from_match_to_match', () => {
    flame.choose(0);
    same(['n', 'n', 'n', 'n', 'n', 'N'].map(k => press(k) && 0 ||
      flame.chosen), [3, 5, 6, 11, 3, 11]);
  });
  test('matches_and_the_rest_differ_in_the_picture', () => {
    flame.choose(0);
    same([pixel(3), pixel(2)],
      [rgb(flame.colors.hit), rgb(flame.colors.miss)]);
  });
  test('a_match_above_the_view_is_as_clear', () => {
    flame.on.zoom(tree.view(4));
    same(pixel(3), rgb(flame.colors.hit));
    press('Backspace');
    press('Backspace');
    press('Backspace');
    same(flame.view.first, 0);
  });
  test('what_is_no_regular_expression_is_text', () => {
    type('parse<std::string>(');
    same($('matched').textContent, '30.0% matched · 300.00 ms · 1 frame ' +
      '(not a regular expression, taken as text)');
    same($('search').classList.contains('invalid'), true);
  });
  test('text_with_parentheses_is_found_as_it_stands', () => {
    type('(char const*)');
    same(flame.marks.frames, 1);
  });
  test('no_match_is_said', () => {
    type('zzz');
    same([$('matched').textContent, names()], ['No match', []]);
    type('');
  });
  test('table_starts_with_the_most_self_time', () => same(rows()[0],
    ['34.9%', '34.9%', 'leaf', 'libwork.so']));
  test('table_sorts_by_its_headers', () => {
    head('name').firstChild.click();
    same([names()[1], head('name').getAttribute('aria-sort'),
      hash().get('sort')], ['a/b&c;d', 'ascending', 'name']);
    head('name').firstChild.click();
    same([names()[0], hash().get('sort')], ['work', '-name']);
    head('self').firstChild.click();
  });
  const button = name => [...$('rows').querySelectorAll('button')]
    .find(b => b.title.split('\n')[0] === name);
  const pressed = () => [...$('rows').querySelectorAll('[aria-pressed=true]')]
    .map(b => b.title.split('\n')[0]);
  test('a_row_selects_its_function_and_greys_nothing', () => {
    button('work').click();
    same([hash().get('fn'), flame.picked.total, flame.marks, pressed(),
      $('chosen').textContent, pixel(5), pixel(2)], ['work', 6e8, null,
      ['work'], 'work', rgb(flame.colors.hit), rgb(flame.fills.node(2))]);
    button('work').click();
    same([hash().get('fn'), flame.picked], [null, null]);
  });
  test('a_frame_that_is_clicked_is_the_row_and_the_function_too', async () => {
    mouse('pointermove', 4);
    mouse('click', 4);
    await drawn();
    same([hash().get('fn'), pressed(), $('chosen').textContent, $('tip').hidden],
      ['a/b&c;d', ['a/b&c;d'], 'a/b&c;d', true]);
  });
  test('the_last_pick_wins', () => {
    button('leaf').click();
    same([$('chosen').textContent, flame.chosen], ['leaf', 6]);
    press('s');
    same([hash().get('fn'), $('callers-title').textContent],
      ['leaf', 'Callers of leaf']);
  });
  test('escape_takes_back_one_thing_at_a_time', () => {
    type('work');
    const state = () => [hash().get('view'), hash().get('fn'), hash().get('q'),
      hash().getAll('z').length];
    const seen = [0, 1, 2, 3].map(() => press('Escape', document.body) && 0 ||
      state());
    same(seen, [[null, 'leaf', 'work', 3], [null, null, 'work', 3],
      [null, null, null, 3], [null, null, null, 0]]);
  });
  test('root_goes_to_the_bottom_and_back', () => {
    $('flame').click();
    same([hash().get('view'), flame.top(0) + 19 === flame.full],
      ['flame', true]);
    press('ArrowUp');
    same(flame.chosen, 1);
    $('icicle').click();
    same([flame.top(0), hash().get('view')], [0, null]);
  });
  const nodes = t => [...t.name].map((n, i) =>
    [t.depth[i], t.names[n], t.total[i] / 1e6, t.self[i] / 1e6]);
  test('a_focus_keeps_stacks_through_the_function', () => {
    const left = stoker.filtered(tree, [['focus', 'a/b&c;d']]);
    same(nodes(left), [[0, 'all', 500, 0], [1, 'main', 500, 0],
      [2, 'work', 500, 0], [3, 'a/b&c;d', 500, 0], [4, 'work', 500, 200],
      [5, left.names[9], 50, 50], [5, 'leaf', 250, 250]]);
  });
  test('what_is_hidden_is_left_out_with_all_that_it_calls', () => {
    const left = stoker.filtered(tree, [['hide', 'work']]);
    same(nodes(left).map(([, name]) => name), ['all', 'main', 'leaf',
      left.names[2], 'thin_0', 'thin_1', 'thin_2']);
    same(left.total[0] + 6e8, tree.total[0]);
  });
  test('a_fold_gives_its_cost_to_its_callers_and_joins_what_it_called', () => {
    const left = stoker.filtered(tree, [['fold', 'work'],
      ['fold-package', 'libwork.so']]);
    same([nodes(left).map(([, name, , self]) => [name, self]),
      left.total[0] === tree.total[0]],
    [[['all', 0], ['main', 649], [left.names[9], 50], [left.names[2], 300],
      ['thin_0', 0.3], ['thin_1', 0.4], ['thin_2', 0.3]], true]);
  });
  test('a_recursive_function_is_folded_into_its_outermost_frame', () => {
    const left = stoker.filtered(tree, [['fold-kind', 'recursion']]);
    same(nodes(left), [[0, 'all', 1000, 0], [1, 'main', 1000, 0],
      [2, 'leaf', 99, 99], [2, left.names[2], 300, 300], [2, 'thin_0', 0.3, 0.3],
      [2, 'thin_1', 0.4, 0.4], [2, 'thin_2', 0.3, 0.3], [2, 'work', 600, 300],
      [3, left.names[9], 50, 50], [3, 'leaf', 250, 250]]);
  });
  test('kinds_of_code_are_folded_and_files_of_the_server_likewise', async () => {
    const items = () => [...$('kinds').querySelectorAll('li')].map(li =>
      [li.textContent, li.querySelector('input').checked]);
    press('f', document.body);
    same([items(), document.activeElement.value],
      [[[' allocator34.9%', false], [' recursion', false]], 'allocator']);
    document.activeElement.click();
    await drawn();
    same([items()[0], document.activeElement.value, hash().getAll('fold-kind'),
      $('filters').textContent],
    [[' allocator34.9%', true], 'allocator', ['allocator'],
      'folded: allocator ×']);
    press('Escape', document.activeElement);
    same($('kinds').open, false);
    $('reset').click();
    same(hash().getAll('fold-kind'), []);
  });
  test('what_a_text_finds_is_focused_hidden_or_folded', async () => {
    same(nodes(stoker.filtered(tree, [['focus-text', '^A/B'],
      ['hide-text', 'leaf'], ['fold-text', 'WORK']])).map(([, name]) => name),
    ['all', 'main', 'a/b&c;d', tree.names[9]]);
    same($('found').hidden, true);
    $('search').value = 'wor';
    $('search').dispatchEvent(new Event('input'));
    same($('found').hidden, false);
    $('found').lastElementChild.click();
    await drawn();
    same([hash().get('fold-text'), hash().get('q'), $('filters').textContent],
      ['wor', null, 'folded like wor ×']);
    $('reset').click();
    same(hash().get('fold-text'), null);
  });
  test('the_menu_of_a_frame_leaves_out_and_a_chip_brings_back', async () => {
    mouse('contextmenu', 3);
    const items = [...$('menu').children];
    same([$('menu').hidden, document.activeElement === items[0],
      hash().get('fn')], [false, true, 'work']);
    press('ArrowDown', items[0]);
    document.activeElement.click();
    await drawn();
    same([hash().getAll('hide'), $('menu').hidden, $('filters').textContent,
      $('top-title').textContent, $('reset').disabled],
    [['work'], true, 'without work ×60.0% left out',
      'Top functions of what is left, in percent of it', false]);
    $('filters').querySelector('button').click();
    same([hash().getAll('hide'), flame.tree.total[0], $('filters').textContent],
      [[], tree.total[0], '']);
    press('Escape', document.body);
  });
  test('the_legend_has_packages_by_their_cost_and_folds_one', async () => {
    const legend = () => [...$('legend').children].map(li => li.textContent)
      .slice(0, -1);
    same(legend(), ['shop 35.1%', 'libwork.so 34.9%', 'libparse.so 30.0%']);
    $('legend').querySelectorAll('button')[1].click();
    await drawn();
    same([hash().getAll('fold-package'), legend()],
      [['libwork.so'], ['shop 70.0%', 'libparse.so 30.0%']]);
    $('reset').click();
  });
  test('the_table_is_as_wide_as_it_is_dragged', async () => {
    const { offsetWidth: usual } = $('top'), divider = $('divider');
    press('ArrowLeft', divider);
    same([$('top').offsetWidth, divider.getAttribute('aria-valuenow')],
      [usual + 32, String(Math.round(100 * (usual + 32) /
        divider.parentElement.clientWidth))]);
    for (let i = 0; i < 40; i++) press('ArrowRight', divider);
    same($('top').offsetWidth < usual, true);
    divider.dispatchEvent(new MouseEvent('dblclick'));
    same($('top').offsetWidth, usual);
    $('canvas').focus();
  });
  test('colours_tell_own_code_from_libraries', async () => {
    const fills = () => ['main', 'leaf', 'thin_0'].map(name =>
      flame.fills.name(tree.names.indexOf(name)));
    const [main] = fills();
    press('k', document.body);
    await drawn();
    same([...$('legend').children].map(li => li.textContent),
      ['libraries 64.9%', 'own code 35.1%', 'By package']);
    same([fills()[0] === main, hash().get('colors')], [false, 'origin']);
    $('legend').lastElementChild.firstElementChild.click();
    await drawn();
    same([fills()[0] === main, location.hash], [true, '']);
  });
  for (const [origin, pkg, name, file] of [
    ['kernel', '[kernel.kallsyms]', 'do_syscall_64', ''],
    ['runtime', 'libc.so.6', '__memmove_avx', './string/memmove.S'],
    ['runtime', 'ld-linux-x86-64.so.2', '_dl_relocate', ''],
    ['library', 'libssl.so.3', 'SSL_read', ''],
    ['own', 'redis-server', 'processCommand', 'server.c'],
    ['runtime', 'redis-server', 'std::sort<int*>', ''],
    ['own', 'python3.11', 'total', '/srv/shop/app.py'],
    ['library', 'python3.11', 'get',
      '/usr/lib/python3/dist-packages/requests/api.py'],
    ['runtime', 'python3.11', 'loads', '/usr/lib/python3.11/json/__init__.py'],
    ['runtime', 'python3.11', '_PyEval_EvalFrameDefault', ''],
    ['own', 'main', 'main.work', '/home/a/main.go'],
    ['own', 'github.com/acme/shop', 'github.com/acme/shop.Price',
      'github.com/acme/shop/price.go'],
    ['library', 'github.com/lib/pq', 'github.com/lib/pq.Open',
      '/root/go/pkg/mod/github.com/lib/pq@v1.2.3/conn.go'],
    ['runtime', 'net/http', 'net/http.(*conn).serve', 'net/http/server.go'],
    ['own', 'shop/cart', 'shop/cart.Add', '/home/me/shop/cart/add.go'],
    ['runtime', 'net/http', 'net/http.Get',
      '/opt/hostedtoolcache/go/1.22.1/x64/src/net/http/client.go'],
    ['library', 'node', 'handle', '/srv/node_modules/express/index.js'],
    ['library', 'node', 'parse', '/usr/local/lib/node_modules/a/b.js'],
    ['library', 'ruby', 'call',
      '/usr/local/lib/ruby/gems/3.3.0/gems/rack-3.0/lib/rack.rb'],
    ['own', 'perl', 'main::price', '/srv/shop/price.pl'],
    ['runtime', 'libperl.so.5.36', 'Perl_pp_entersub', ''],
    ['own', 'luajit', 'price', 'app.lua'],
    ['own', 'beam.smp', 'shop:price/1', 'shop.erl'],
    ['runtime', 'php-fpm8.2', 'zend_hash_find', ''],
    ['runtime', '', 'java.util.HashMap.get', 'HashMap.java'],
    ['own', '', 'shop.Pricer.price', 'Pricer.java'],
  ]) test(`of_${origin}: ${name}`, () =>
    same(stoker.originOf(pkg, name, file), origin));
  test('a_link_leaves_out_what_it_says', async () => {
    follow('#fold=work&hide=gone');
    await drawn();
    same([flame.tree.names[flame.tree.name[1]], $('filters').textContent,
      names().includes('work')], ['main', 'folded: work ×', false]);
    $('reset').click();
    same([location.hash, flame.tree.n], ['', tree.n]);
  });
  test('callers_of_a_function_are_merged_from_it_outwards', () => {
    const up = callers(tree, tree.names.indexOf('leaf'));
    same([...up.name].map((n, i) => [up.depth[i], up.names[n], up.total[i]]), [
      [0, 'leaf', 349e6], [1, 'main', 99e6], [1, 'work', 25e7],
      [2, 'a/b&c;d', 25e7], [3, 'work', 25e7], [4, 'main', 25e7]]);
  });
  test('callees_of_a_recursive_function_count_from_its_outermost_frame', () => {
    const down = callees(tree, tree.names.indexOf('work'));
    same([...down.name].map((n, i) => [down.depth[i], down.names[n],
      down.total[i], down.self[i]]), [[0, 'work', 6e8, 1e8],
      [1, 'a/b&c;d', 5e8, 0], [2, 'work', 5e8, 2e8],
      [3, down.names[9], 5e7, 5e7], [3, 'leaf', 25e7, 25e7]]);
  });
  test('s_shows_the_chosen_function_between_both', () => {
    flame.on.choose(6);
    press('s');
    const [up, down] = stoker.sandwich().panes;
    same([hash().get('view'), hash().get('fn'), $('scroll').hidden,
      $('sandwich').getAttribute('aria-pressed'), up.tree.n, down.tree.n],
    ['sandwich', 'leaf', true, 'true', 6, 1]);
    same([$('callers-title').textContent, $('numbers').textContent],
      ['Callers of leaf', 'libwork.so · Total 349.00 ms (34.9%), about 35 ' +
        'samples · Self 349.00 ms (34.9%)']);
    if (!(up.width > 100 && up.height > 50)) throw new Error(up.height);
  });
  test('a_caller_becomes_the_middle_and_back_leads_here', async () => {
    const [up] = stoker.sandwich().panes;
    up.on.choose(3);
    up.on.zoom(up.tree.view(3));
    same([hash().get('fn'), up.tree.nameOf(0), rows().find(r =>
      r[2] === 'a/b&c;d').length], ['a/b&c;d', 'a/b&c;d', 4]);
    history.back();
    await once(window, 'hashchange');
    same([hash().get('fn'), up.tree.nameOf(0)], ['leaf', 'leaf']);
  });
  test('search_marks_callers_and_callees_too', () => {
    type('main');
    same([stoker.sandwich().panes[0].marks.frames, $('matched').textContent],
      [2, '100.0% matched · 1.00 s · 1 frame']);
    type('');
  });
  test('escape_leaves_it_for_the_whole', () => {
    press('Escape', document.body);
    same([$('scroll').hidden, $('sandwich-panes').hidden, location.hash,
      flame.width > 100], [false, true, '#fn=leaf', true]);
    press('Escape', document.body);
  });
  test('bottom_up_has_each_function_by_its_own_cost_above_its_callers', () => {
    const up = stoker.bottomUp(tree), parts = [...up.name].map((n, i) =>
      [up.depth[i], up.names[n], up.total[i] / 1e6, up.self[i] / 1e6]);
    same(parts.filter(([depth]) => depth < 2), [[0, 'all', 1e3, 0],
      [1, up.names[9], 50, 50], [1, 'leaf', 349, 349],
      [1, up.names[2], 300, 300], [1, 'thin_0', 0.3, 0.3],
      [1, 'thin_1', 0.4, 0.4], [1, 'thin_2', 0.3, 0.3],
      [1, 'work', 300, 300]]);
    const leaf = parts.findIndex(p => p[1] === 'leaf');
    same(parts.slice(leaf + 1, leaf + 6), [[2, 'main', 99, 0],
      [2, 'work', 250, 0], [3, 'a/b&c;d', 250, 0], [4, 'work', 250, 0],
      [5, 'main', 250, 0]]);
  });
  test('bottom_up_counts_frames_whose_callers_it_leaves_out', () => {
    const doc = { names: ['all', 'main', 'big', 'tiny'], packages: [],
      files: [], depth: [0, 1, 2, 2], name: [0, 1, 2, 3], self: [0, 0, 1e6, 9],
      totals: [1000009, 1000009, 1e6, 9] };
    same([stoker.bottomUp(new Tree(doc)).cut, stoker.bottomUp(tree).cut],
      [1, 0]);
  });
  test('a_lock_has_the_functions_that_wait_for_it', () => {
    const t = new Tree({ names: ['all', 'put', 'pthread_mutex_lock',
      '[lock cache]', 'get'], packages: ['', 'shop', 'libc.so.6', '', 'shop'],
    files: [], depth: [0, 1, 2, 3, 1, 2, 3], name: [0, 1, 2, 3, 4, 2, 3],
    self: [0, 0, 0, 3, 0, 0, 7], totals: [10, 3, 3, 3, 7, 7, 7],
    file: [], line: [] });
    same([t.takers(3), t.takers(2)], [[['get', 0.7], ['put', 0.3]], []]);
  });
  test('b_turns_the_tree_around_and_the_table_stays', () => {
    const before = rows();
    press('b');
    same([hash().get('view'), $('bottomup').getAttribute('aria-pressed'),
      rows()], ['bottomup', 'true', before]);
    const leaf = flame.tree.find(['leaf']);
    flame.on.choose(leaf + 3);
    same($('chosen').textContent, 'a/b&c;d');
    flame.on.zoom(flame.tree.view(leaf));
    same([hash().getAll('z'), $('crumbs').textContent],
      [['leaf'], 'allleaf']);
    follow('#view=bottomup&z=leaf&z=work');
    same(flame.tree.path(flame.view.first), ['leaf', 'work']);
    press('v');
    same([location.hash, flame.view.first, flame.tree.nameOf(1)],
      ['', 0, 'main']);
  });
  test('o_puts_the_heaviest_first_and_back', () => {
    flame.on.zoom(tree.view(3));
    press('o');
    same([hash().get('order'), nodes(flame.tree).slice(0, 4).map(n => n[1]),
      flame.tree.path(flame.view.first)],
    ['weight', ['all', 'main', 'work', 'a/b&c;d'], ['main', 'work']]);
    same(flame.tree.total[0], tree.total[0]);
    press('o');
    same([hash().get('order'), nodes(flame.tree)], [null, nodes(tree)]);
    press('Escape');
  });
  test('t_hides_the_table', () => {
    press('t');
    same([$('top').hidden, hash().get('table')], [true, '0']);
    press('t');
  });
  test('light_colours_read', everyColorReads);
  test('dark_repaints_the_canvas', () => {
    const light = pixel(2);
    $('theme').click();
    const dark = pixel(2);
    if (contrast(light, dark) < 2) throw new Error(`${light} and ${dark}`);
  });
  test('dark_colours_read', everyColorReads);
  test('a_link_shows_the_same_again', async () => {
    $('theme').click();
    follow('#z=main&z=work&q=leaf&view=flame&sort=-total&table=1');
    await drawn();
    same([flame.view.first, $('search').value, flame.rootBelow,
      head('total').getAttribute('aria-sort')], [3, 'leaf', true, 'ascending']);
  });
  test('a_link_of_nonsense_shows_everything', async () => {
    follow('#z=nope&to=x&q=&view=9&sort=constructor&fn=');
    await drawn();
    same([flame.view.first, flame.marks, flame.rootBelow, names().length],
      [0, null, false, 9]);
  });
  /* Waits until a key is copied, or the page asks the reader to copy it. */
  const copied = key => new Promise(done => {
    const look = () => {
      const said = $('toast').textContent;
      if (!said && !$('by-hand').open) return;
      seen.disconnect();
      done([said, $('by-hand').open && $('by-hand-text').value]);
      $('toast').textContent = '';
      $('by-hand').close();
    };
    const seen = new MutationObserver(look);
    for (const e of [$('toast'), $('by-hand')])
      seen.observe(e, { childList: true, attributes: true });
    press(key);
  });
  for (const [key, what, text] of [['c', 'Name', 'work'],
    ['C', 'Stack', 'main\nwork\na/b&c;d\nwork']])
    test(`${key}_copies_the_${what.toLowerCase()}_and_is_seen_to`, async () => {
      flame.on.choose(5);
      const [said, byHand] = await copied(key);
      if (said !== what + ' copied' && byHand !== text)
        throw new Error(`${said} ${byHand}`);
    });
  test('newer_data_leave_zoom_search_selection_and_focus', async () => {
    const doc = JSON.parse(
      document.getElementById('data').textContent);
    follow('#z=main&z=work&q=leaf&fn=work&sort=-total');
    await drawn();
    $('search').focus();
    doc.totalSamples = 77;
    doc.names.push('young');
    for (const [column, v] of [['depth', 1], ['name', doc.names.length - 1],
      ['self', 7], ['totals', 7]]) doc[column].push(v);
    same(stoker.renew(doc, ''), true);
    await drawn();
    same([flame.tree.n, flame.view.first, $('search').value,
      held(), $('chosen').textContent,
      flame.tree.names.at(-1), flame.marks.frames,
      $('facts').textContent.includes('77'),
      head('total').getAttribute('aria-sort')],
    [tree.n + 1, 3, 'leaf', 'search', 'work', 'young', 2, true, 'ascending']);
  });

  run(tests);
})();
