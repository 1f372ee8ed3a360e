/*
 * The model of the page: a call tree as columns in preorder, and computations
 * on it. Pure: it never touches the DOM.
 *
 * Node 0 is the root; the subtree of node i is the range [i, end[i]), so its
 * first child is i + 1 and the sibling after child c is end[c].
 */
import { visible, quantity, percent, packageColor, originColor, originOf }
  from './text.js';

/**
 * @import { AnyDoc, Bar, Cell, Change, Column, Columns, Fills, Marks, Read,
 *   Row, Sort, Span, Test, View } from './types'
 */

/* Siblings narrower than this are drawn as one bar. */
const NARROW_PX = 2;

/** @param {Column} column @param {number} [by] */
function scaled(column, by = 1) {
  const values = new Float64Array(column);
  for (let i = 0; by !== 1 && i < values.length; i++) values[i] *= by;
  return values;
}

/**
 * The values of a column at some places, in their order.
 *
 * @template {Int32Array | Float64Array | Uint8Array} T
 * @param {T} column @param {Column} order
 */
function gather(column, order) {
  const out = /** @type {T} */ (new (/** @type {new (n: number) => T} */
    (column.constructor))(order.length));
  for (let k = 0; k < order.length; k++) out[k] = column[order[k]];
  return out;
}

class Tree {
  /* For two profiles (diff.js): the base's values by node, and the nodes and
   * functions that certainly changed. */
  /** @type {Float64Array | undefined} */ baseSelf;
  /** @type {Float64Array | undefined} */ baseTotal;
  /** @type {Uint8Array | undefined} */ sure;
  /** @type {Map<number, Change> | undefined} */ changes;
  /** @type {Map<number, 'more' | 'less'> | undefined} */ listed;
  /** @type {Int32Array} */ parent = new Int32Array(0);
  /** @type {Int32Array} */ end = new Int32Array(0);
  cut = 0; /* frames whose callers are left out: merge.js */

  /** @param {AnyDoc} doc */
  constructor(doc) {
    this.type = doc.type;
    this.unit = doc.unit;
    this.samples = doc.totalSamples;
    this.names = doc.names.map(visible);
    this.packages = doc.packages.map(visible);
    this.files = doc.files.map(visible);
    this.starts = { file: doc.file, line: doc.line }; /* by name */
    this.kinds = doc.kinds; /* of functions: { kind, about, names } */
    this.n = doc.depth.length;
    this.depth = new Int32Array(doc.depth);
    this.name = new Int32Array(doc.name);
    this.self = scaled(doc.self, doc.scale);
    this.total = scaled(doc.totals, doc.scale);
    this.all = this.n > 0 ? this.total[0] : 0;
    /** @type {Float64Array} */
    this.width = this.total; /* width of bars */
    this.style = { byOrigin: false }; /* shared by derived trees */
    this.place();
  }

  /* Derives parent and end of subtree. */
  place() {
    const { n, depth } = this;
    const parent = this.parent = new Int32Array(n).fill(-1);
    const end = this.end = new Int32Array(n).fill(n);
    const open = new Int32Array(n); /* by depth: open nodes */
    for (let i = 1, top = 0; i < n; i++) {
      const d = depth[i];
      for (; top >= d; top--) end[open[top]] = i;
      parent[i] = open[top];
      open[top = d] = i;
    }
  }

  /*
   * Another tree of the same profile, such as that of a function's callers:
   * depth, name, self and total, in preorder. Shares refer to the whole
   * profile.
   */
  /** @param {Columns} columns @returns {this} */
  derive(columns) {
    const tree = Object.assign(Object.create(Object.getPrototypeOf(this)),
      this, columns);
    tree.n = tree.depth.length;
    tree.width = tree.total;
    if (!columns.parent) tree.place();
    return tree;
  }

  /* The arguments with which derive() makes this tree in another thread. */
  /** @returns {Columns} */
  columns() {
    const { depth, name, self, total, baseSelf, baseTotal, sure, parent, end,
      cut } = this;
    return { depth, name, self, total, parent, end, cut,
      ...baseSelf && { baseSelf, baseTotal, sure } };
  }

  /* The columns, with other nodes or in another order. */
  /** @param {number[]} order @returns {Columns} */
  picked(order) {
    const { depth, name, self, total } = this;
    return { depth: gather(depth, order), name: gather(name, order),
      self: gather(self, order), total: gather(total, order) };
  }

  /* The same tree with the heaviest of siblings first. */
  heavyFirst() {
    const { n, end, width } = this, open = n > 0 ? [0] : [];
    /** @type {number[]} */
    const order = [];
    for (let i; (i = open.pop()) !== undefined;) {
      const below = [];
      order.push(i);
      for (let c = i + 1; c < end[i]; c = end[c]) below.push(c);
      below.sort((a, b) => width[a] - width[b] || b - a);
      for (const c of below) open.push(c);
    }
    return this.derive(this.picked(order));
  }

  /** @param {number} i */
  nameOf(i) { return this.names[this.name[i]]; }
  /** @param {number} i */
  packageOf(i) { return this.packages[this.name[i]]; }

  /* The source location of a function; "" if unknown. */
  /** @param {number} name */
  sourceOf(name) {
    const file = this.files[this.starts.file[name] || 0];
    const line = this.starts.line[name];
    return file && line ? `${file}:${line}` : file;
  }

  /* The origin of a function's code, as a word of ORIGINS. */
  /** @param {number} name */
  originOf(name) {
    return originOf(this.packages[name] ?? '', this.names[name],
      this.files[this.starts.file[name] || 0] ?? '');
  }

  /* Columns of the table, and whether they are descending at first; numbers()
   * has a row's numbers in that order: text, meter, title. */
  /** @type {Partial<Record<Sort, boolean>>} */
  static columns = { self: true, total: true, name: false, package: false };
  /** @type {Sort} */
  static sort = 'self';
  static title = 'Top functions';
  get common() { return /** @type {typeof Tree} */ (this.constructor); }

  /** @param {Row} row @param {View} view @returns {Cell[]} */
  numbers(row, view) {
    return [row.self, row.total].map(v => {
      const text = percent(v, view.width);
      return { text, meter: text.replace('<', ''),
        title: this.share(v) + (view.first > 0 ? ' of all' : '') };
    });
  }

  /* Colours of nodes and functions; read() reads them from the style sheet. */
  /** @param {Read} read @returns {Fills} */
  colors(read) {
    const light = Number(read('light')), chroma = Number(read('chroma'));
    const { packages, names } = this;
    /** @type {string[]} */
    const fills = [];
    /** @param {number} i */
    const name = i => fills[i] ??= this.style.byOrigin
      ? originColor(this.originOf(i), names[i], light, chroma)
      : packageColor(packages[i], names[i], light, chroma);
    return { node: i => name(this.name[i]), name };
  }

  /* A node as a line of text, for lists. */
  /** @param {number} i */
  brief(i) { return percent(this.total[i], this.all); }

  /** @param {number} v */
  share(v) { return `${quantity(v, this.unit)} (${percent(v, this.all)})`; }

  /* Total and self of a node, as lines of text. */
  /** @param {number} i @param {View} view */
  describe(i, view) {
    const { type, total, self, samples, all } = this;
    const about = type !== 'cpu' || all <= 0 ? ''
      : `, about ${Math.round(total[i] / all * samples)
        .toLocaleString('en')} samples`;
    const ofView = this.isWithin(i, view)
      ? `, ${percent(total[i], view.width)} of the view` : '';
    return [`Total ${this.share(total[i])}${ofView}${about}`,
      `Self ${this.share(self[i])}`];
  }

  /* True if the view is a part of the tree, and the node lies in it. */
  /** @param {number} i @param {View} view */
  isWithin(i, view) {
    return view.first > 0 && i >= view.first && i < view.end;
  }

  /* The view: siblings from first up to the one before end. */
  /** @param {number} first @param {number} [end] @returns {View} */
  view(first, end = this.end[first]) {
    let width = 0, last = first;
    for (let i = first; i < end; i = this.end[i]) {
      width += this.width[i];
      last = i;
    }
    return { first, last, end, width };
  }

  /*
   * The bars of a view, by row, left to right, in pixels. A bar is one
   * node, or (count > 1) neighbours too narrow to be drawn one by one.
   */
  /** @param {View} view @param {number} width */
  bars(view, width) {
    const scale = view.width > 0 ? width / view.width : 0;
    /** @type {Bar[][]} */
    const rows = [];
    /** @type {number[]} */
    const next = []; /* by row: where the next bar starts */
    for (let p = this.parent[view.first]; p >= 0; p = this.parent[p])
      rows[this.depth[p]] = [{ node: p, end: this.end[p], count: 1,
        x: 0, w: width, above: true }];
    next[this.depth[view.first]] = 0;
    for (let i = view.first; i < view.end;) {
      const row = this.depth[i], bar = this.bar(i, view, scale, next[row]);
      if (!rows[row]) rows[row] = [];
      if (bar.w > 0) rows[row].push(bar);
      next[row + 1] = bar.x;
      next[row] += bar.w;
      i = bar.w < NARROW_PX || bar.count > 1 ? bar.end : i + 1;
    }
    return rows;
  }

  /**
   * @param {number} i @param {View} view @param {number} scale
   * @param {number} x @returns {Bar}
   */
  bar(i, view, scale, x) {
    let end = this.end[i], units = this.width[i], count = 1;
    if (units * scale < NARROW_PX)
      for (let s = end; s < view.end && this.depth[s] === this.depth[i] &&
           this.width[s] * scale < NARROW_PX; s = end) {
        units += this.width[s];
        end = this.end[s];
        count++;
      }
    return { node: i, end, count, x, w: units * scale, above: false };
  }

  /* The k heaviest of the nodes of a bar. */
  /** @param {Bar} bar @param {number} k */
  heaviest(bar, k) {
    const nodes = [];
    for (let i = bar.node; i < bar.end; i = this.end[i]) nodes.push(i);
    return nodes.sort((a, b) => this.width[b] - this.width[a]).slice(0, k);
  }

  /** @param {number} i */
  heaviestChild(i) {
    let best = -1;
    for (let c = i + 1; c < this.end[i]; c = this.end[c])
      if (best < 0 || this.width[c] > this.width[best]) best = c;
    return best;
  }

  /* The neighbour on the same row within the view; i when there is none. */
  /** @param {number} i @param {number} step @param {View} view */
  beside(i, step, view) {
    for (let j = step > 0 ? this.end[i] : i - 1;
         j >= view.first && j < view.end; j += step)
      if (this.depth[j] === this.depth[i]) return j;
    return i;
  }

  /* The path to a node by names, which stays valid when node numbers
   * change. */
  /** @param {number} i */
  path(i) {
    const names = [];
    for (; i > 0; i = this.parent[i]) names.unshift(this.nameOf(i));
    return names;
  }

  /* The node at a path, or the deepest one on it that exists. */
  /** @param {string[]} path */
  find(path) {
    let at = 0;
    for (const name of path) {
      let c = at + 1;
      while (c < this.end[at] && this.nameOf(c) !== name) c = this.end[c];
      if (c >= this.end[at]) break;
      at = c;
    }
    return at;
  }

  /* From a node to its later sibling of that name, or the node alone. */
  /** @param {number} first @param {string} lastName */
  range(first, lastName) {
    const stop = first > 0 ? this.end[this.parent[first]] : 0;
    for (let i = first; i < stop; i = this.end[i])
      if (this.nameOf(i) === lastName) return this.view(first, this.end[i]);
    return this.view(first);
  }

  /*
   * Marks the functions that test() accepts. before[i] counts the marked nodes
   * before i, so that one subtraction counts those in any subtree; total
   * counts nested matches once.
   */
  /** @param {Test} test @returns {Marks} */
  mark(test) {
    const names = Uint8Array.from(this.names, s => test(s) ? 1 : 0);
    const before = new Int32Array(this.n + 1);
    let total = 0, counted = 0;
    for (let i = 0; i < this.n; i++) {
      const hit = i > 0 && names[this.name[i]];
      before[i + 1] = before[i] + (hit ? 1 : 0);
      if (!hit || i < counted) continue;
      total += this.total[i];
      counted = this.end[i];
    }
    return { names, before, total, frames: before[this.n] };
  }

  /* The heaviest frame of a function in a view, or else anywhere. */
  /** @param {number} name @param {Span} view */
  heaviestOf(name, { first, end }) {
    let best = -1, isBestWithin = false;
    for (let i = 1; i < this.n; i++) {
      if (this.name[i] !== name) continue;
      const isWithin = i >= first && i < end;
      if (best < 0 || isWithin && !isBestWithin || isWithin === isBestWithin
          && this.width[i] > this.width[best])
        [best, isBestWithin] = [i, isWithin];
    }
    return best;
  }

  /*
   * The program's own functions in which threads wait for a lock, as [name,
   * part of the waits], largest first; none for other frames. They show where
   * the lock is taken, but not in which of them its holder was.
   */
  /** @param {number} name */
  takers(name) {
    const spent = new Map(), { parent } = this;
    let all = 0;
    for (let i = 1; this.names[name].startsWith('[lock ') && i < this.n; i++) {
      let at = this.name[i] === name ? parent[i] : 0;
      while (at > 0 && this.originOf(this.name[at]) !== 'own') at = parent[at];
      if (at <= 0) continue;
      spent.set(this.nameOf(at), (spent.get(this.nameOf(at)) ?? 0) +
        this.total[i]);
      all += this.total[i];
    }
    return [...spent].map(([taker, value]) => [taker, value / all])
      .sort(([, a], [, b]) => b - a);
  }

  /* The sum over all frames of a function, nested frames counted once; '' if
   * there is only one frame. */
  /** @param {number} name */
  everywhere(name) {
    let frames = 0, self = 0, total = 0, counted = 0;
    for (let i = 1; i < this.n; i++) {
      if (this.name[i] !== name) continue;
      frames++;
      self += this.self[i];
      if (i < counted) continue;
      total += this.total[i];
      counted = this.end[i];
    }
    return frames < 2 ? '' : `all its ${frames.toLocaleString('en')} frames: `
      + `total ${this.share(total)}, self ${this.share(self)}`;
  }

  /* The marked part of a view; nested matches count once. */
  /** @param {Marks} marks @param {Span} view */
  marked({ names }, { first, end }) {
    let total = 0;
    for (let i = first; i < end; i++) {
      if (!names[this.name[i]] || i === 0) continue;
      total += this.width[i];
      i = this.end[i] - 1;
    }
    return total;
  }

  /* Functions of a view; of a recursive one, the outermost frame counts. */
  /** @param {Span} view @returns {Row[]} */
  top(view) {
    const { names: { length }, name: nameOf, end } = this;
    const self = new Float64Array(length), total = new Float64Array(length);
    const until = new Int32Array(length); /* the end of an outermost frame */
    for (let i = Math.max(view.first, 1); i < view.end; i++) {
      const name = nameOf[i];
      self[name] += this.self[i];
      if (i < until[name]) continue;
      total[name] += this.total[i];
      until[name] = end[i];
    }
    const rows = [];
    for (let name = 0; name < length; name++)
      if (until[name] > 0) rows.push({ name, self: self[name],
        total: total[name], now: 0, base: 0 });
    return rows;
  }

  /** @param {Row} _row */
  isFolded(_row) { return false; }

  /** @param {Row} row @param {Sort} key @returns {number} */
  rank(row, key) { return Number(row[/** @type {'self'} */ (key)]); }

  /** @param {Row[]} rows @param {Sort} key @param {boolean} descending */
  sortTop(rows, key, descending) {
    const text = key === 'name' ? this.names : this.packages;
    /** @type {(a: Row, b: Row) => number} */
    const by = this.common.columns[key]
      ? (a, b) => this.rank(a, key) - this.rank(b, key)
      : (a, b) => text[a.name] < text[b.name] ? -1
        : text[a.name] > text[b.name] ? 1 : 0;
    const sign = descending ? -1 : 1;
    return rows.sort((a, b) => sign * by(a, b) || b.self - a.self ||
      b.total - a.total || a.name - b.name);
  }
}

export { Tree, NARROW_PX, gather, scaled };
