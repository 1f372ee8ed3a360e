/*
 * Makes other trees from a tree: the inverted one, with all functions, each
 * above its callers; the callers of one function and its callees; and the tree
 * without what filters leave out. Stacks with the same names are merged. The
 * cost of a recursive function counts from its outermost frame. Pure, like
 * model.js.
 */
import { gather } from './model.js';
import { matcher } from './text.js';

/** @import { AnyTree, Columns, Filter, Test, What } from './types' */

/* The numbers below n, sorted by their keys; the sort is stable. */
/** @param {Int32Array} keys */
function bucketed(keys) {
  let most = 0;
  for (const key of keys) most = Math.max(most, key);
  const start = new Int32Array(most + 2), out = new Int32Array(keys.length);
  for (const key of keys) start[key + 1]++;
  for (let k = 1; k < start.length; k++) start[k] += start[k - 1];
  for (let i = 0; i < keys.length; i++) out[start[keys[i]]++] = i;
  return out;
}

/* The rank of each name in alphabetical order. */
/** @type {WeakMap<string[], Int32Array>} */
const known = new WeakMap();
/** @param {string[]} names */
function ranks(names) {
  const before = known.get(names);
  if (before) return before;
  const rank = new Int32Array(names.length);
  [...names.keys()]
    .sort((a, b) => names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0)
    .forEach((name, place) => { rank[name] = place; });
  known.set(names, rank);
  return rank;
}

const LEAST_ROOM = 1024; /* nodes */

/**
 * A copy of a column with another length.
 *
 * @template {Int32Array | Float64Array | Uint8Array} T
 * @param {T} column @param {number} length @returns {T}
 */
function resized(column, length) {
  const out = new (/** @type {new (n: number) => T} */ (column.constructor))(
    length);
  out.set(column.subarray(0, length));
  return out;
}

/*
 * Nodes being merged; 0 is the function itself. They are columns, like a
 * tree's, with room for more. places finds a node by its parent and name: a
 * hash table that is at most half full, in which 0 is a free place.
 */
class Merge {
  n = 1;
  parent = new Int32Array(LEAST_ROOM);
  name = new Int32Array(LEAST_ROOM);
  moved = new Uint8Array(LEAST_ROOM);
  places = new Int32Array(2 * LEAST_ROOM);
  isPruned = false;

  /* listed: the node above functions in lists of changes */
  /** @param {AnyTree} tree @param {number} name @param {number} [listed] */
  constructor(tree, name, listed = -1) {
    this.tree = tree;
    this.listed = listed;
    this.parent[0] = -1;
    this.name[0] = name;
    /** @type {Float64Array[]} */
    this.columns = [tree.self, tree.total];
    if (tree.baseSelf && tree.baseTotal)
      this.columns.push(tree.baseSelf, tree.baseTotal);
    /* by column and node */
    this.sums = this.columns.map(() => new Float64Array(LEAST_ROOM));
  }

  /* The place of a node in the table, or else a free place for it. */
  /** @param {number} at @param {number} name */
  place(at, name) {
    const { parent, name: names, places } = this, mask = places.length - 1;
    let h = Math.imul(at, 0x9e3779b1) ^ Math.imul(name, 0x85ebca6b);
    h = (h ^ h >>> 15) & mask;
    for (let node; (node = places[h]) > 0; h = h + 1 & mask)
      if (parent[node] === at && names[node] === name) break;
    return h;
  }

  /** @param {number} at @param {number} name */
  child(at, name) {
    const place = this.place(at, name);
    if (this.places[place] > 0) return this.places[place];
    const node = this.n++;
    if (node === this.parent.length) this.grow();
    this.parent[node] = at;
    this.name[node] = name;
    this.places[this.place(at, name)] = node;
    return node;
  }

  grow() {
    const room = 2 * this.parent.length;
    this.parent = resized(this.parent, room);
    this.name = resized(this.name, room);
    this.moved = resized(this.moved, room);
    this.sums = this.sums.map(sum => resized(sum, room));
    this.places = new Int32Array(2 * room);
    for (let i = 1; i < this.n - 1; i++)
      this.places[this.place(this.parent[i], this.name[i])] = i;
  }

  /* Adds the values of node i; callers have no self value. */
  /** @param {number} at @param {number} i @param {boolean} withSelf */
  add(at, i, withSelf) {
    const { tree, sums, columns } = this;
    for (let k = 0; k < columns.length; k++)
      if (withSelf || k % 2) sums[k][at] += columns[k][i];
    if (tree.sure?.[i]) this.moves(at, i);
  }

  /* Records the direction in which node i, which is sure, moved. */
  /** @param {number} at @param {number} i */
  moves(at, i) {
    const [, now, , base] = this.columns;
    this.moved[at] |= now[i] > base[i] ? 1 : 2;
  }

  /* Adds the self value of node i: to totals, and to self values if isIt. */
  /** @param {number} at @param {number} i @param {boolean} isIt */
  addSelf(at, i, isIt) {
    const { sums, columns } = this;
    for (let k = 0; k < columns.length; k++)
      if (isIt || k % 2) sums[k][at] += columns[k - k % 2][i];
  }

  /* Indexes in preorder, children by name: sorted from the last name to the
   * first, and then inserted below their parents in turn. */
  order() {
    const { n, name, parent } = this;
    const next = new Int32Array(n).fill(-1), first = next.slice();
    const byName = bucketed(gather(ranks(this.tree.names),
      name.subarray(0, n)));
    for (let k = n - 1; k >= 0; k--) {
      const i = byName[k];
      if (i === 0) continue;
      next[i] = first[parent[i]];
      first[parent[i]] = i;
    }
    const out = new Int32Array(n);
    for (let i = 0, k = 0; i >= 0;) {
      out[k++] = i;
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
  /** @param {number} i */
  isSure(i) {
    if (this.parent[i] === this.listed &&
        this.tree.changes?.has(this.name[i])) return 1;
    const [, now, , base] = this.sums.map(sum => sum[i]);
    return (now > base && this.moved[i] & 1 ||
      now < base && this.moved[i] & 2) ? 1 : 0;
  }

  end() {
    const { n, tree, parent, sums } = this;
    /* frames that folded recursion left out cost nothing */
    const order = this.order().filter(i => i === 0 || !this.isPruned ||
      sums.some((sum, k) => k % 2 && sum[i] !== 0));
    const depth = new Int32Array(n), [self, total, ...base] = sums.map(sum =>
      gather(sum, order));
    for (const i of order) depth[i] = i ? depth[parent[i]] + 1 : 0;
    /** @type {Columns} */
    const columns = { depth: gather(depth, order),
      name: gather(this.name, order), self, total };
    if (base.length > 0) Object.assign(columns, {
      baseSelf: base[0], baseTotal: base[1],
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
 *	fold	its frames are left out: their callers have their cost
 *	fold-package	likewise the frames of a package
 *	fold-kind	likewise those of a kind; of "recursion", what repeats
 *	focus-text, hide-text, fold-text	like focus, hide and fold, for
 *			functions that a text finds
 *
 * Shares still refer to the whole profile.
 */
/** @type {What[]} */
const FILTERS = ['focus', 'hide', 'fold', 'fold-package', 'fold-kind',
  'focus-text', 'hide-text', 'fold-text'];
const RECURSION = 'recursion';

/* By name: whether its frames are folded. */
/** @param {AnyTree} tree @param {(what: What) => string[]} of */
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

/* The nearest frame of the function on the way to the root; -1: none. */
/** @param {Merge} merge @param {number} at @param {number} name */
function above(merge, at, name) {
  while (at > 0 && merge.name[at] !== name) at = merge.parent[at];
  return at > 0 ? at : -1;
}

/** @param {AnyTree} tree @param {Filter[]} filters */
function filtered(tree, filters) {
  /** @param {What} what */
  const of = what => filters.filter(f => f[0] === what).map(f => f[1]);
  /* for each filter, and each name: 1 if the filter matches the name */
  /** @param {'focus' | 'hide'} what */
  const meant = what => [
    ...of(what).map(name => /** @type {Test} */ (s => s === name)),
    ...of(`${what}-text`).map(text => matcher(text).test)].map(test =>
    Uint8Array.from(tree.names, s => test(s) ? 1 : 0));
  const focus = meant('focus'), hide = meant('hide');
  const isFolded = folded(tree, of);
  const isOnce = of('fold-kind').includes(RECURSION);
  const { n, name, parent } = tree, wanted = (1 << focus.length) - 1;
  const seen = new Int32Array(n), isHidden = new Uint8Array(n);
  const merge = new Merge(tree, name[0]), { columns } = merge;
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
      merge.sums[c][at[i]] += kept[c][i];
    if (tree.sure?.[i] && !isOut) merge.moves(at[i], i);
  }
  /* a merged node follows its parent */
  const { sums } = merge;
  for (let c = 0; c < columns.length; c += 2) {
    for (let i = 0; i < merge.n; i++) sums[c + 1][i] = sums[c][i];
    for (let i = merge.n - 1; i > 0; i--)
      sums[c + 1][merge.parent[i]] += sums[c + 1][i];
  }
  return merge.end();
}

/* The outermost frames of a function. */
/** @param {AnyTree} tree @param {number} name */
function outermost(tree, name) {
  const found = [];
  for (let i = 1; i < tree.n; i++) {
    if (tree.name[i] !== name) continue;
    found.push(i);
    i = tree.end[i] - 1;
  }
  return found;
}

/** @param {AnyTree} tree @param {number} name */
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

/** @param {AnyTree} tree @param {number} name */
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
 * following all would take seconds if all stacks differ. cut is the number of
 * frames whose callers are left out.
 */
const SEEN = 1 / 20000;

/** @param {AnyTree} tree */
function bottomUp(tree) {
  const left = new Set();
  const merge = new Merge(tree, tree.name[0], 0);
  /** @param {number} i */
  const spent = i => tree.self[i] + (tree.baseSelf ? tree.baseSelf[i] : 0);
  /** @param {number} at */
  const seen = at => merge.sums[1][at] + (merge.sums[3]?.[at] ?? 0);
  /* for each stack that is followed: the leaf, the frame, and its node */
  const leaves = new Int32Array(tree.n), frames = new Int32Array(tree.n);
  const at = new Int32Array(tree.n);
  let live = 0;
  for (let i = 1; i < tree.n; i++) {
    if (spent(i) === 0) continue;
    merge.addSelf(0, i, false);
    leaves[live] = frames[live] = i;
    live++;
  }
  const least = seen(0) * SEEN;
  while (live > 0) {
    for (let k = 0; k < live; k++) {
      at[k] = merge.child(at[k], tree.name[frames[k]]);
      merge.addSelf(at[k], leaves[k], frames[k] === leaves[k]);
      frames[k] = tree.parent[frames[k]];
    }
    let kept = 0;
    for (let k = 0; k < live; k++) {
      if (frames[k] <= 0) continue;
      if (seen(at[k]) < least) {
        left.add(at[k]);
        continue;
      }
      leaves[kept] = leaves[k];
      frames[kept] = frames[k];
      at[kept++] = at[k];
    }
    live = kept;
  }
  return Object.assign(merge.end(), { cut: left.size });
}

export { FILTERS, RECURSION, SEEN, bottomUp, callees, callers, filtered };
