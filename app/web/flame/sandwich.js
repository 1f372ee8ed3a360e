/*
 * The sandwich: one function between its callers and its callees. The stacks
 * above the function are merged outwards from it, and those below it
 * downwards.
 *
 *   on.choose(node, flame) on.center(name of a function)
 */
import { Flame } from './flame.js';

/** @import { AnyTree, Pane, Test } from './types' */

/* The two pictures; callers are above. */
class Sandwich {
  /**
   * @param {{ callers: Pane, callees: Pane }} parts @param {AnyTree} tree
   * @param {{ choose: (node: number, on: Flame) => void,
   *   center: (name: string) => void }} on
   */
  constructor(parts, tree, on) {
    /** @type {Flame[]} */
    this.panes = [parts.callers, parts.callees].map((pane, k) =>
      new Flame(pane, tree, {
        choose: node => on.choose(node, this.panes[k]),
        zoom: () => on.center(
          this.panes[k].tree.nameOf(this.panes[k].chosen)),
      }));
    this.panes[0].rootBelow = true;
  }

  /* The trees of callers and callees; test marks matches of the search. */
  /** @param {AnyTree[]} trees @param {Test | null} test */
  show(trees, test) {
    trees.forEach((tree, k) => {
      this.panes[k].resize();
      this.panes[k].setTree(tree);
    });
    this.mark(test);
  }

  /** @param {Test | null} test */
  mark(test) {
    for (const pane of this.panes)
      pane.setMarks(test ? pane.tree.mark(test) : null);
  }

  readTheme() { for (const pane of this.panes) pane.readTheme(); }

  /* The names from the outermost caller to the frame, or to its callee. */
  /** @param {number} node @param {Flame} pane */
  stack(node, pane) {
    const path = [pane.tree.nameOf(0), ...pane.tree.path(node)];
    return pane === this.panes[0] ? path.reverse() : path;
  }
}

export { Sandwich };
