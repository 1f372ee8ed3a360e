/*
 * Two drawings. The inverted tree has all functions, each above its callers.
 * The sandwich has one function between its callers and its callees: the stacks
 * above it are merged outwards from it, those below it downwards. The cost of a
 * recursive function counts from its outermost frame.
 *
 *   on.choose(node, flame) on.center(name of a function)
 */
import { Flame } from './flame.js';
import { matcher } from './text.js';

/* The numbers below n, sorted by key(); the sort is stable. */
function bucketed(n, key) {
  const keys = Int32Array.from({ length: n }, (_, i) => key(i));
  const start = new Int32Array(keys.reduce((a, b) => Math.max(a, b), 0) + 2);
  for (const k of keys) start[k + 1]++;
  for (let k = 1; k < start.length; k++) start[k] += start[k - 1];
  const out = new Int32Array(n);
  for (let i = 0; i < n; i++) out[start[keys[i]]++] = i;
  return out;
}

/* The rank of each name in alphabetical order. */
const known = new WeakMap();
function ranks(names) {
  if (known.has(names)) return known.get(names);
  const rank = new Int32Array(names.length);
  [...names.keys()]
    .sort((a, b) => names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0)
    .forEach((name, place) => { rank[name] = place; });
  known.set(names, rank);
  return rank;
}

/* Nodes being merged; 0 is the function itself. */
class Merge {
  /* listed: the node above functions that are in lists of changes */
  constructor(tree, name, listed = -1) {
    this.tree = tree;
    this.listed = listed;
    this.parent = [-1];
    this.name = [name];
    this.sums = []; /* by column and node */
    this.moved = [0];
    this.isPruned = false;
    this.columns = [tree.self, tree.total];
    if (tree.baseTotal) this.columns.push(tree.baseSelf, tree.baseTotal);
    this.sums = this.columns.map(() => [0]);
    this.children = new Map();
  }

  child(at, name) {
    const key = at * this.tree.names.length + name;
    let node = this.children.get(key);
    if (node !== undefined) return node;
    this.children.set(key, node = this.name.length);
    this.parent.push(at);
    this.name.push(name);
    this.moved.push(0);
    for (const sum of this.sums) sum.push(0);
    return node;
  }

  /* Adds the values of node i; callers have no self value. */
  add(at, i, withSelf) {
    const { tree, sums, columns } = this;
    for (let k = 0; k < columns.length; k++)
      if (withSelf || k % 2) sums[k][at] += columns[k][i];
    if (tree.sure && tree.sure[i])
      this.moved[at] |= tree.total[i] > tree.baseTotal[i] ? 1 : 2;
  }

  /* Adds the self value of node i: to totals, and to self values if isIt. */
  addSelf(at, i, isIt) {
    const { sums, columns } = this;
    for (let k = 0; k < columns.length; k++)
      if (isIt || k % 2) sums[k][at] += columns[k - k % 2][i];
  }

  /* Indexes in preorder, children by name as everywhere: sorted from the
   * last name to the first, and then put upon their parents in turn. */
  order() {
    const { name, parent } = this, rank = ranks(this.tree.names);
    const next = new Int32Array(name.length).fill(-1), first = next.slice();
    const byName = bucketed(name.length, i => rank[name[i]]);
    for (let k = byName.length - 1; k >= 0; k--) {
      const i = byName[k];
      if (i === 0) continue;
      next[i] = first[parent[i]];
      first[parent[i]] = i;
    }
    const out = [];
    for (let i = 0; i >= 0;) {
      out.push(i);
      let to = first[i];
      for (let up = i; to < 0 && up > 0; up = parent[up]) to = next[up];
      i = to;
    }
    return out;
  }

  /*
   * A merged node is sure if a sure node in it moved the same way. The function
   * itself is sure if it is listed, even if no single frame of it shows that.
   */
  isSure(i) {
    if (this.parent[i] === this.listed &&
        this.tree.changes.has(this.name[i])) return 1;
    const [, now, , base] = this.sums.map(sum => sum[i]);
    return (now > base && this.moved[i] & 1 ||
      now < base && this.moved[i] & 2) ? 1 : 0;
  }

  end() {
    const { tree, parent, sums } = this;
    /* what folded recursion passed by costs nothing */
    const order = this.order().filter(i => i === 0 || !this.isPruned ||
      sums.some((sum, k) => k % 2 && sum[i] !== 0));
    const depth = new Int32Array(parent.length);
    const column = k => Float64Array.from(order, i => this.sums[k][i]);
    for (const i of order) depth[i] = i ? depth[parent[i]] + 1 : 0;
    const columns = {
      depth: Int32Array.from(order, i => depth[i]),
      name: Int32Array.from(order, i => this.name[i]),
      self: column(0), total: column(1),
    };
    if (tree.baseTotal) Object.assign(columns, {
      baseSelf: column(2), baseTotal: column(3),
      sure: Uint8Array.from(order, i => this.isSure(i)),
    });
    return tree.derive(columns);
  }
}

/*
 * The tree with some of its stacks and frames left out. Each of filters is
 * [what, name]:
 *
 *	focus	only stacks through the function are kept
 *	hide	stacks through it are left out
 *	fold	its frames are left out: what they cost is their callers'
 *	fold-package	likewise the frames of a package
 *	fold-kind	likewise those of a kind; of "recursion", what repeats
 *	focus-text, hide-text, fold-text	as focus, hide and fold, of the
 *			functions that a text finds
 *
 * Shares stay those of the whole profile.
 */
const FILTERS = ['focus', 'hide', 'fold', 'fold-package', 'fold-kind',
  'focus-text', 'hide-text', 'fold-text'];
const RECURSION = 'recursion';

/* By name: whether its frames are folded. */
function folded(tree, of) {
  const isFolded = new Uint8Array(tree.names.length);
  const functions = new Set(of('fold')), packages = new Set(of('fold-package'));
  const tests = of('fold-text').map(text => matcher(text).test);
  for (const i of tree.names.keys())
    if (functions.has(tree.names[i]) || packages.has(tree.packages[i]) ||
        tests.some(test => test(tree.names[i])))
      isFolded[i] = 1;
  for (const { kind, names } of tree.kinds)
    if (of('fold-kind').includes(kind))
      for (const i of names) isFolded[i] = 1;
  return isFolded;
}

/* A frame of the function on the way to the root; -1: none. */
function above(merge, at, name) {
  while (at > 0 && merge.name[at] !== name) at = merge.parent[at];
  return at > 0 ? at : -1;
}

function filtered(tree, filters) {
  const of = what => filters.filter(f => f[0] === what).map(f => f[1]);
  /* for each of them, by name: whether it is meant */
  const [focus, hide] = ['focus', 'hide'].map(what => [
    ...of(what).map(name => s => s === name),
    ...of(what + '-text').map(text => matcher(text).test)].map(test =>
    Uint8Array.from(tree.names, s => test(s) ? 1 : 0)));
  const isFolded = folded(tree, of);
  const isOnce = of('fold-kind').includes(RECURSION);
  const { n, name, parent } = tree, wanted = (1 << focus.length) - 1;
  const seen = new Int32Array(n), isHidden = new Uint8Array(n);
  const merge = new Merge(tree, name[0]), { columns, sums } = merge;
  merge.isPruned = isOnce;
  const kept = columns.map(() => new Float64Array(n));
  for (let i = 0; i < n; i++) {
    if (i > 0) {
      seen[i] = seen[parent[i]];
      isHidden[i] = isHidden[parent[i]] || hide.some(h => h[name[i]]) ? 1 : 0;
      focus.forEach((f, k) => { if (f[name[i]]) seen[i] |= 1 << k; });
    }
    if (isHidden[i] || seen[i] !== wanted) continue;
    for (let c = 0; c < columns.length; c += 2)
      kept[c][i] = kept[c + 1][i] = columns[c][i];
  }
  for (let i = n - 1; i > 0; i--)
    for (let c = 1; c < columns.length; c += 2)
      kept[c][parent[i]] += kept[c][i];
  const at = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    if (i > 0 && !kept.some((values, c) => c % 2 && values[i] > 0)) continue;
    const isOut = i > 0 && isFolded[name[i]];
    const first = isOnce && !isOut ? above(merge, at[parent[i]], name[i]) : -1;
    at[i] = i === 0 ? 0 : isOut ? at[parent[i]]
      : first >= 0 ? first : merge.child(at[parent[i]], name[i]);
    for (let c = 0; c < columns.length; c += 2)
      sums[c][at[i]] += kept[c][i];
    if (tree.sure?.[i] && !isOut)
      merge.moved[at[i]] |= tree.total[i] > tree.baseTotal[i] ? 1 : 2;
  }
  /* what is merged lies behind its parent */
  for (let c = 0; c < columns.length; c += 2) {
    for (let i = 0; i < merge.name.length; i++) sums[c + 1][i] = sums[c][i];
    for (let i = merge.name.length - 1; i > 0; i--)
      sums[c + 1][merge.parent[i]] += sums[c + 1][i];
  }
  return merge.end();
}

/* The outermost frames of a function. */
function outermost(tree, name) {
  const found = [];
  for (let i = 1; i < tree.n; i++) {
    if (tree.name[i] !== name) continue;
    found.push(i);
    i = tree.end[i] - 1;
  }
  return found;
}

function callees(tree, name) {
  const merge = new Merge(tree, name), at = new Int32Array(tree.n);
  for (const top of outermost(tree, name)) {
    merge.add(0, top, true);
    at[top] = 0;
    for (let i = top + 1; i < tree.end[top]; i++) {
      at[i] = merge.child(at[tree.parent[i]], tree.name[i]);
      merge.add(at[i], i, true);
    }
  }
  return merge.end();
}

function callers(tree, name) {
  const merge = new Merge(tree, name);
  for (const i of outermost(tree, name)) {
    let at = 0;
    merge.add(0, i, false);
    for (let p = tree.parent[i]; p > 0; p = tree.parent[p]) {
      at = merge.child(at, tree.name[p]);
      merge.add(at, i, false);
    }
  }
  return merge.end();
}

/*
 * All functions by self value, each above its callers. Callers are followed
 * outwards level by level, as long as they are large enough to be seen:
 * following all of them would take seconds if all stacks differ. cut is the
 * number of frames whose callers are left out.
 */
const SEEN = 1 / 20000;

function bottomUp(tree) {
  const left = new Set();
  const merge = new Merge(tree, tree.name[0], 0), { sums } = merge;
  const spent = i => tree.self[i] + (tree.baseSelf ? tree.baseSelf[i] : 0);
  const seen = at => sums[1][at] + (sums[3] ? sums[3][at] : 0);
  let live = [];
  for (let i = 1; i < tree.n; i++) {
    if (spent(i) === 0) continue;
    merge.addSelf(0, i, false);
    live.push({ leaf: i, frame: i, at: 0 });
  }
  const least = seen(0) * SEEN;
  while (live.length > 0) {
    for (const stack of live) {
      stack.at = merge.child(stack.at, tree.name[stack.frame]);
      merge.addSelf(stack.at, stack.leaf, stack.frame === stack.leaf);
      stack.frame = tree.parent[stack.frame];
    }
    live = live.filter(({ frame, at }) => {
      if (frame <= 0) return false;
      if (seen(at) < least) left.add(at);
      return seen(at) >= least;
    });
  }
  return Object.assign(merge.end(), { cut: left.size });
}

/* The two pictures; callers are above. */
class Sandwich {
  constructor(parts, tree, on) {
    Object.assign(this, { tree, on });
    this.panes = [parts.callers, parts.callees].map((pane, k) =>
      new Flame(pane, tree, {
        choose: node => on.choose(node, this.panes[k]),
        zoom: () => on.center(
          this.panes[k].tree.nameOf(this.panes[k].chosen)),
      }));
    this.panes[0].rootBelow = true;
  }

  /* The function, by its index in names; test marks what was searched. */
  show(name, test) {
    [callers, callees].forEach((merge, k) => {
      this.panes[k].resize();
      this.panes[k].setTree(merge(this.tree, name));
    });
    this.mark(test);
  }

  mark(test) {
    for (const pane of this.panes)
      pane.setMarks(test ? pane.tree.mark(test) : null);
  }

  readTheme() { for (const pane of this.panes) pane.readTheme(); }

  /* The names from the outermost caller to the frame, or to its callee. */
  stack(node, pane) {
    const path = [pane.tree.nameOf(0), ...pane.tree.path(node)];
    return pane === this.panes[0] ? path.reverse() : path;
  }
}

export { FILTERS, RECURSION, SEEN, Sandwich, bottomUp, callers, callees, filtered };
