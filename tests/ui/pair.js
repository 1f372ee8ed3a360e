/*
 * Two graphs on one page: the second has the profile of small.json without its
 * last node, in the elements that were there before the first was drawn.
 */
(() => {
  const { openPage } = stoker, first = document.querySelector('.profile');
  const doc = JSON.parse(document.getElementById('data').textContent);
  for (const column of ['depth', 'name', 'self', 'totals']) doc[column].pop();
  document.body.append(pristine);
  const two = openPage(pristine, doc, { prefix: 'b.', hasTable: false });
  const roots = [first, pristine], graphs = [stoker, two];
  const part = (i, name) => roots[i].querySelector(`[part="${name}"]`);
  const hash = () => new URLSearchParams(location.hash.slice(1));
  const press = (key, target = document.body) => target.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const both = f => [0, 1].map(f);
  const seen = () => both(i => [graphs[i].flame.view.first,
    part(i, 'search').value, part(i, 'chosen').textContent]);

  const tests = [
    ['each_is_drawn_from_its_own_data', () => {
      same(graphs.map(g => g.flame.tree.n), [12, 11]);
      same(both(i => part(i, 'top').hidden), [false, true]);
    }],
    ['no_id_is_there_twice_and_references_stay_inside', () => {
      const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
      same(ids.length, new Set(ids).size);
      const names = ['aria-labelledby', 'aria-describedby', 'aria-controls',
        'for'];
      for (const root of roots)
        for (const name of names)
          for (const e of root.querySelectorAll(`[${name}]`))
            if (!root.contains(document.getElementById(e.getAttribute(name))))
              throw new Error(`${name}=${e.getAttribute(name)}`);
    }],
    ['zoom_search_and_selection_are_those_of_one', () => {
      graphs[1].flame.on.choose(3);
      graphs[1].flame.on.zoom(graphs[1].flame.tree.view(3));
      part(1, 'search').value = 'leaf';
      part(1, 'search').dispatchEvent(new Event('input'));
      same(seen(), [[0, '', 'all'], [3, 'leaf', 'work']]);
      graphs[0].flame.on.choose(2);
      graphs[0].flame.on.zoom(graphs[0].flame.tree.view(2));
      same(seen(), [[2, '', graphs[0].tree.nameOf(2)], [3, 'leaf', 'work']]);
    }],
    ['the_address_has_both', () => same([hash().getAll('z').length,
      hash().getAll('b.z'), hash().get('b.q'), hash().get('q')],
    [2, ['main', 'work'], 'leaf', null])],
    ['a_link_shows_both_again', () => {
      history.pushState(null, '', '#q=thin&b.z=main&b.view=flame');
      window.dispatchEvent(new HashChangeEvent('hashchange'));
      same(seen().map(s => s.slice(0, 2)), [[0, 'thin'], [1, '']]);
      same(graphs.map(g => g.flame.rootBelow), [false, true]);
    }],
    ['keys_are_for_the_one_that_was_used_last', () => {
      part(1, 'canvas').focus();
      press('t', part(1, 'canvas'));
      part(1, 'canvas').blur();
      press('v');
      same([both(i => part(i, 'top').hidden), graphs.map(g =>
        g.flame.rootBelow)], [[false, false], [false, false]]);
      part(0, 'canvas').focus();
      press('v', part(0, 'canvas'));
      same(graphs.map(g => g.flame.rootBelow), [true, false]);
    }],
    ['one_that_is_closed_leaves_keys_and_address_to_the_other', () => {
      part(1, 'canvas').focus();
      two.close();
      pristine.remove();
      press('v');
      same([stoker.flame.rootBelow, hash().get('q')], [false, 'thin']);
    }],
  ];
  run(tests);
})();
