/*
 * Two profiles side by side: the same tree twice, with the widths of the base
 * and with those of the comparison. Both show the same view, search and
 * selection. Nodes and views in events refer to the whole tree.
 */
import { Flame, element } from './flame.js';
import { DiffTree } from './diff.js';
import { percent, shorten } from './text.js';

/** @import { AnyTree, DiffDoc, Marks, On, Pane, Shape, View } from './types' */

/** @type {[Shape, string][]} */
const SIDES = [['before', 'Base'], ['after', 'Comparison']];
const GAP_PX = 8; /* of a saved picture */

class Sides {
  /**
   * @param {Pane[]} panes the base's, then the comparison's
   * @param {HTMLElement[]} titles @param {DiffDoc} doc
   * @param {DiffTree} tree @param {On} on
   */
  constructor(panes, titles, doc, tree, on) {
    this.titles = titles;
    this.doc = doc;
    /** @type {Flame[]} */
    this.panes = panes.map((pane, k) => new Flame(pane, tree.seenAs(
      SIDES[k][0]), { ...on, zoom: ({ first, end }) =>
      on.zoom(this.tree.view(first, end)) }));
    this.tree = tree;
  }

  /** @param {AnyTree} tree */
  setTree(tree) {
    if (!(tree instanceof DiffTree)) return;
    this.tree = tree;
    this.panes.forEach((pane, k) => {
      pane.resize();
      pane.setTree(tree.seenAs(SIDES[k][0]));
    });
  }

  /** @param {View} view */
  show({ first, end }) {
    for (const pane of this.panes) pane.show(pane.tree.view(first, end));
  }

  /** @param {Marks | null} marks */
  setMarks(marks) { for (const pane of this.panes) pane.setMarks(marks); }
  /** @param {Marks | null} picked */
  setPicked(picked) { for (const pane of this.panes) pane.setPicked(picked); }
  /** @param {number} node */
  choose(node) { for (const pane of this.panes) pane.choose(node); }
  readTheme() { for (const pane of this.panes) pane.readTheme(); }

  /* Shows what each side is, how much of it the view shows, and the parts of
   * that in the selected function and in matches of the search. */
  /** @param {string} fn */
  drawTitles(fn) {
    const { doc } = this, docs = [doc.base, doc];
    this.panes.forEach((pane, k) => {
      const { tree, view, marks, picked } = pane, all = tree.view(0);
      /** @param {Marks | null} found @param {string} what */
      const part = (found, what) => found ? `${percent(
        tree.marked(found, view), view.width)} ${what}` : '';
      const title = this.titles[k];
      title.textContent = title.title = [SIDES[k][1],
        view.first > 0 ? `${percent(view.width, all.width)} of all`
          : DiffTree.side(doc, docs[k]),
        part(picked, `in ${shorten(fn, 40)}`), part(marks, 'matched')]
        .filter(Boolean).join(' · ');
    });
  }

  /* Both pictures side by side on one canvas. */
  canvas() {
    const [a, b] = this.panes.map(pane => pane.canvas);
    const all = element('canvas', '');
    all.width = a.width + GAP_PX + b.width;
    all.height = Math.max(a.height, b.height);
    const c = all.getContext('2d');
    c?.drawImage(a, 0, 0);
    c?.drawImage(b, a.width + GAP_PX, 0);
    return all;
  }
}

export { Sides };
