/* A page of 50 000 nodes: how many are drawn, found and moved. */
run([
  ['every_node_is_there', () => same(stoker.tree.n, 50000)],
  ['no_more_bars_than_pixels_have_room_for', () => {
    for (const row of stoker.flame.rows)
      if (row.length > stoker.flame.width) throw new Error(row.length);
  }],
  ['every_node_is_in_a_bar_or_under_a_narrow_one', () => {
    const { tree, flame } = stoker, seen = new Uint8Array(tree.n);
    for (const row of flame.rows)
      for (const bar of row)
        seen.fill(1, bar.node, bar.count > 1 || bar.w < stoker.NARROW_PX
          ? bar.end : bar.node + 1);
    same(seen.indexOf(0), -1);
  }],
  ['a_regular_expression_finds_in_all', () => {
    const marks = stoker.tree.mark(stoker.matcher('step_1\\d+$|Load').test);
    if (!(marks.frames > 100 && marks.total <= stoker.tree.all))
      throw new Error(`${marks.frames} frames, ${marks.total}`);
  }],
  ['the_deepest_frame_can_be_zoomed_into', () => {
    const { tree, flame } = stoker;
    const deepest = tree.depth.indexOf(Math.max(...tree.depth));
    flame.on.zoom(tree.view(deepest));
    const [bar] = flame.rows[tree.depth[deepest]];
    same([Math.round(bar.w), tree.find(tree.path(deepest))],
      [flame.width, deepest]);
    if (flame.scroll.scrollTop === 0) throw new Error('out of sight');
  }],
  ['bottom_up_tells_what_it_leaves_out', () => {
    const press = key => document.dispatchEvent(
      new KeyboardEvent('keydown', { key, cancelable: true }));
    const cut = document.querySelector('[part=cut]');
    same(cut.hidden, true);
    press('b');
    if (cut.hidden || !/^Callers of [\d,]+ frames below 0\.005% are not shown\.$/
      .test(cut.textContent)) throw new Error(cut.textContent);
    press('v');
    same(cut.hidden, true);
  }],
]);
