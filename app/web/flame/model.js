/*
 * The model of the page: a call tree as columns in preorder, and computations
 * on it. Pure: it never touches the DOM.
 *
 * Node 0 is the root; the subtree of node i is the range [i, end[i]), so its
 * first child is i + 1 and the sibling after child c is end[c].
 */
import { visible, quantity, percent, packageColor, originColor, originOf }
  from './text.js';

/* Siblings narrower than this are drawn as one bar. */
const NARROW_PX = 2;

function scaled(column, by = 1) {
  const values = new Float64Array(column);
  for (let i = 0; by !== 1 && i < values.length; i++) values[i] *= by;
  return values;
}

class Tree {
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
    this.width = this.total; /* of bars */
    this.style = { byOrigin: false }; /* of this tree and those derived of it */
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
  derive(columns) {
    const tree = Object.assign(Object.create(Object.getPrototypeOf(this)),
      this, columns);
    tree.n = tree.depth.length;
    tree.width = tree.total;
    tree.place();
    return tree;
  }

  /* The same tree with the heaviest of siblings first. */
  heavyFirst() {
    const { n, end, width } = this, order = [], open = n > 0 ? [0] : [];
    while (open.length > 0) {
      const i = open.pop(), below = [];
      order.push(i);
      for (let c = i + 1; c < end[i]; c = end[c]) below.push(c);
      below.sort((a, b) => width[a] - width[b] || b - a);
      for (const c of below) open.push(c);
    }
    const columns = {};
    for (const key of this.constructor.byNode)
      columns[key] = this[key].map((_, k) => this[key][order[k]]);
    return this.derive(columns);
  }

  nameOf(i) { return this.names[this.name[i]]; }
  packageOf(i) { return this.packages[this.name[i]]; }

  /* The source location of a function; "" if unknown. */
  sourceOf(name) {
    const file = this.files[this.starts.file[name] || 0];
    const line = this.starts.line[name];
    return file && line ? `${file}:${line}` : file;
  }

  /* Whose code a function is, in a word of ORIGINS. */
  originOf(name) {
    return originOf(this.packages[name] ?? '', this.names[name],
      this.files[this.starts.file[name] || 0] ?? '');
  }

  /* Columns of the table, and whether they are sorted downwards at first;
   * the numbers of a row, in that order: text, its meter, what it is. */
  static byNode = ['depth', 'name', 'self', 'total'];
  static columns = { self: true, total: true, name: false, package: false };
  static sort = 'self';
  static title = 'Top functions';

  numbers(row, view) {
    return [row.self, row.total].map(v => {
      const text = percent(v, view.width);
      return { text, meter: text.replace('<', ''),
        title: this.share(v) + (view.first > 0 ? ' of all' : '') };
    });
  }

  /* Colours of nodes and functions; read() reads them from the style sheet. */
  colors(read) {
    const light = Number(read('light')), chroma = Number(read('chroma'));
    const fills = [], { packages, names } = this;
    const name = i => fills[i] ??= this.style.byOrigin
      ? originColor(this.originOf(i), names[i], light, chroma)
      : packageColor(packages[i], names[i], light, chroma);
    return { node: i => name(this.name[i]), name };
  }

  /* A node as a line of text, for lists. */
  brief(i) { return percent(this.total[i], this.all); }

  share(v) { return `${quantity(v, this.unit)} (${percent(v, this.all)})`; }

  /* Total and self of a node, as lines of text. */
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

  /* Whether the view is a part of the tree, and the node has a share of it. */
  isWithin(i, view) {
    return view.first > 0 && i >= view.first && i < view.end;
  }

  /* The view: siblings from first up to the one before end. */
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
  bars(view, width) {
    const rows = [], scale = view.width > 0 ? width / view.width : 0;
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
  heaviest(bar, k) {
    const nodes = [];
    for (let i = bar.node; i < bar.end; i = this.end[i]) nodes.push(i);
    return nodes.sort((a, b) => this.width[b] - this.width[a]).slice(0, k);
  }

  heaviestChild(i) {
    let best = -1;
    for (let c = i + 1; c < this.end[i]; c = this.end[c])
      if (best < 0 || this.width[c] > this.width[best]) best = c;
    return best;
  }

  /* The neighbour on the same row within the view; i when there is none. */
  beside(i, step, view) {
    for (let j = step > 0 ? this.end[i] : i - 1;
         j >= view.first && j < view.end; j += step)
      if (this.depth[j] === this.depth[i]) return j;
    return i;
  }

  /* A path in the tree by names, which stays valid when node numbers change. */
  path(i) {
    const names = [];
    for (; i > 0; i = this.parent[i]) names.unshift(this.nameOf(i));
    return names;
  }

  /* The node at a path, or the deepest one on it that exists. */
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
  range(first, lastName) {
    const stop = first > 0 ? this.end[this.parent[first]] : 0;
    for (let i = first; i < stop; i = this.end[i])
      if (this.nameOf(i) === lastName) return this.view(first, this.end[i]);
    return this.view(first);
  }

  /*
   * Marks the functions that test() accepts. before[i] counts the marked
   * nodes ahead of i, so any subtree is asked in one subtraction; total
   * counts nested matches once.
   */
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
   * part of the waits], the most first; none of other frames. They show where
   * the lock is taken, but not which of them its holder was in.
   */
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
  marked({ names }, { first, end }) {
    let total = 0;
    for (let i = first; i < end; i++) {
      if (!names[this.name[i]] || i === 0) continue;
      total += this.width[i];
      i = this.end[i] - 1;
    }
    return total;
  }

  /* Functions of a view; a recursive one counts its outermost frame. */
  top(view) {
    const rows = [];
    for (let i = Math.max(view.first, 1); i < view.end; i++) {
      const name = this.name[i];
      const row = rows[name] ??= { name, self: 0, total: 0, until: 0 };
      row.self += this.self[i];
      if (i < row.until) continue;
      row.total += this.total[i];
      row.until = this.end[i];
    }
    return rows.filter(Boolean);
  }

  isFolded() { return false; }

  rank(row, key) { return row[key]; }

  sortTop(rows, key, descending) {
    const text = key === 'name' ? this.names : this.packages;
    const by = this.constructor.columns[key]
      ? (a, b) => this.rank(a, key) - this.rank(b, key)
      : (a, b) => text[a.name] < text[b.name] ? -1
        : text[a.name] > text[b.name] ? 1 : 0;
    const sign = descending ? -1 : 1;
    return rows.sort((a, b) => sign * by(a, b) || b.self - a.self ||
      b.total - a.total || a.name - b.name);
  }
}

export { Tree, NARROW_PX, scaled };
