/*
 * The canvas: draws the bars of a view, and tracks the bar under the pointer
 * and the one chosen with the keyboard. It has no other state; the page
 * handles events through the on.* calls:
 *
 *   on.choose(node) on.zoom(view) on.menu(node, x, y), if there is one
 *
 * Frames of the selected function are painted like matches of a search, and
 * nothing else changes. Where colours show a change, they are outlined.
 *
 * The canvas is as large as the visible part of the graph, not as the graph: a
 * stack of 1000 frames would need a bitmap of 100 MB.
 */
import { shorten } from './text.js';
import { NARROW_PX } from './model.js';

/** @import { AnyTree, Bar, Fills, Marks, On, Pane, Read, SeenBar, View }
 *   from './types' */

const ROW = 19, PAD = 5, LISTED = 8;
const FONT = '12px ui-monospace, "DejaVu Sans Mono", ' +
  'Menlo, Consolas, monospace';
const COLORS = ['back', 'ink', 'plain', 'hit', 'hit-ink', 'miss',
  'miss-ink', 'narrow', 'edge', 'more', 'less'];

/**
 * @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {string} text
 * @param {Record<string, string | number | boolean>} [attributes]
 */
function element(tag, text, attributes = {}) {
  const e = document.createElement(tag);
  e.textContent = text;
  for (const k in attributes) e.setAttribute(k, String(attributes[k]));
  return e;
}

/** @param {Bar} bar */
const widthOf = bar => Math.max(bar.w, 0.5);

class Flame {
  /** @type {Bar[][]} */ rows = [];
  /** @type {Bar | null} */ hover = null;
  /** @type {Marks | null} */ marks = null;
  /** @type {Marks | null} */ picked = null;
  /** @type {Record<string, string>} */ colors = {};
  /** @type {Fills} */ fills = { node: () => '', name: () => '' };
  width = 0;
  height = 0;
  full = 0; /* the height of all rows */
  ratio = 1;
  em = 0;
  waiting = 0;

  /** @param {Pane} parts @param {AnyTree} tree @param {On} on */
  constructor(parts, tree, on) {
    const { scroll, canvas } = parts;
    this.tree = tree;
    this.on = on;
    this.scroll = scroll;
    this.canvas = canvas;
    this.spacer = parts.spacer;
    this.tip = parts.tip;
    this.context = /** @type {CanvasRenderingContext2D} */ (
      canvas.getContext('2d', { alpha: false }));
    this.view = tree.view(0);
    this.chosen = 0;
    this.rootBelow = false;
    this.readTheme();
    new ResizeObserver(() => this.resize()).observe(scroll);
    scroll.addEventListener('scroll', () => this.draw());
    canvas.addEventListener('focus', () => this.draw());
    canvas.addEventListener('blur', () => this.draw());
    canvas.addEventListener('pointermove', e => this.point(e));
    canvas.addEventListener('pointerleave', e => this.setHover(null, e));
    canvas.addEventListener('click', e => this.click(e));
    canvas.addEventListener('contextmenu', e => this.menu(e));
    canvas.addEventListener('keydown', e => this.key(e));
  }

  /* Colours come from the style sheet, so that themes are defined in one
   * place. */
  readTheme() {
    const style = getComputedStyle(document.documentElement);
    /** @type {Read} */
    const read = name => style.getPropertyValue('--flame-' + name).trim();
    for (const name of COLORS) this.colors[name] = read(name);
    this.fills = this.tree.colors(read);
    this.draw();
  }

  /* Shows another tree as a whole. */
  /** @param {AnyTree} tree */
  setTree(tree) {
    this.tree = tree;
    this.view = tree.view(0);
    this.chosen = 0;
    this.readTheme();
    this.layout();
    this.reveal(0);
  }

  /* Lays out and paints again if the size has changed. */
  resize() {
    const { canvas, scroll } = this, ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = scroll;
    if (width === this.width && height === this.height &&
        ratio === this.ratio) return;
    Object.assign(this, { width, height, ratio });
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    this.layout();
    this.paint(); /* at once, since a resized canvas is blank */
  }

  layout() {
    this.rows = this.tree.bars(this.view, this.width);
    this.full = Math.max(this.height, this.rows.length * ROW);
    this.spacer.style.height = this.full - this.height + 'px';
    this.setHover(null); /* the element under the pointer moved */
    this.draw();
  }

  /** @param {View} view */
  show(view) {
    this.view = view;
    this.layout();
    this.reveal(view.first);
  }

  /** @param {boolean} below */
  setRootBelow(below) {
    this.rootBelow = below;
    this.layout();
    this.reveal(this.view.first);
  }

  /** @param {Marks | null} marks */
  setMarks(marks) { this.marks = marks; this.draw(); }

  /* The frames of the selected function; null without a selection. */
  /** @param {Marks | null} picked */
  setPicked(picked) { this.picked = picked; this.draw(); }

  /** @param {number} node */
  choose(node) {
    this.chosen = node;
    this.reveal(node);
    this.draw();
  }

  /** @param {number} row */
  top(row) {
    return this.rootBelow ? this.full - (row + 1) * ROW : row * ROW;
  }

  /* Scrolls as far as necessary to show the row of the node. */
  /** @param {number} node */
  reveal(node) {
    const y = this.top(this.tree.depth[node]), { scroll } = this;
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    else if (y + ROW > scroll.scrollTop + this.height)
      scroll.scrollTop = y + ROW - this.height;
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => this.paint());
  }

  paint() {
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    const { context: c, ratio, width, height, colors } = this;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colors.back;
    c.fillRect(0, 0, width, height);
    c.font = FONT;
    c.textBaseline = 'middle';
    this.em = this.em || c.measureText('M'.repeat(64)).width / 64;
    const seen = this.seen();
    this.fillBars(seen);
    for (const at of seen) {
      if (at.bar.count === 1) this.label(at);
      const listed = at.bar.count === 1 && this.tree.listed?.get(
        this.tree.name[at.bar.node]);
      if (listed) this.outline(at, 2, this.colors[listed]);
      const chosen = this.isChosen(at.bar);
      if (chosen || at.bar === this.hover || this.tree.sure &&
          this.has(this.picked, at.bar))
        this.outline(at, chosen ? 2 : 1, this.colors.edge);
    }
  }

  /* The visible bars: { bar, y, fill, ink }. */
  /** @returns {SeenBar[]} */
  seen() {
    /** @type {SeenBar[]} */
    const seen = [];
    this.rows.forEach((row, i) => {
      const y = this.top(i) - this.scroll.scrollTop;
      if (y <= -ROW || y >= this.height) return;
      for (const bar of row) seen.push({ bar, y, ...this.colorsOf(bar) });
    });
    return seen;
  }

  /* Paints colour by colour: changing the colour costs more than a bar. */
  /** @param {SeenBar[]} seen */
  fillBars(seen) {
    const { context: c } = this;
    /** @type {Map<string, SeenBar[]>} */
    const byFill = new Map();
    for (const at of seen)
      byFill.get(at.fill)?.push(at) ?? byFill.set(at.fill, [at]);
    for (const [fill, of] of byFill) {
      c.fillStyle = fill;
      for (const { bar, y } of of) {
        const w = widthOf(bar);
        c.globalAlpha = bar.above && !this.marks ? 0.6 : 1;
        c.fillRect(bar.x, y, w > NARROW_PX ? w - 1 : w, ROW - 1);
      }
    }
    c.globalAlpha = 1;
  }

  /* While the keyboard is used, a frame is outlined even if not selected. */
  /** @param {Bar} bar */
  isChosen(bar) {
    const { chosen, tree, canvas, picked } = this;
    return chosen >= bar.node && chosen < bar.end &&
      tree.depth[chosen] === tree.depth[bar.node] &&
      (picked?.names[tree.name[chosen]] || document.activeElement === canvas);
  }

  /* True if marked frames are in a bar. */
  /** @param {Marks | null} marks @param {Bar} bar */
  has(marks, bar) {
    return marks && (bar.count > 1
      ? marks.before[bar.end] > marks.before[bar.node]
      : bar.node > 0 && marks.names[this.tree.name[bar.node]]);
  }

  /* The colours of a bar and of the text on it. */
  /** @param {Bar} bar */
  colorsOf(bar) {
    const { tree, marks, colors } = this;
    if (this.has(marks ?? (tree.sure ? null : this.picked), bar))
      return { fill: colors.hit, ink: colors['hit-ink'] };
    if (marks) return { fill: colors.miss, ink: colors['miss-ink'] };
    const fill = bar.count > 1 ? colors.narrow
      : bar.node === 0 && !tree.sure ? colors.plain
        : this.fills.node(bar.node);
    return { fill, ink: colors.ink };
  }

  /** @param {SeenBar} seen */
  label({ bar, y, ink }) {
    const { context: c } = this, room = bar.w - 2 * PAD;
    const fits = Math.floor(room / this.em);
    if (fits < 3) return;
    c.fillStyle = ink;
    c.fillText(shorten(this.tree.nameOf(bar.node), fits), bar.x + PAD,
      y + ROW / 2, room); /* squeezed if a letter is wider than M */
  }

  /** @param {SeenBar} seen @param {number} line @param {string} color */
  outline({ bar, y }, line, color) {
    const { context: c } = this;
    c.strokeStyle = color;
    c.lineWidth = line;
    c.strokeRect(bar.x + line / 2, y + line / 2,
      Math.max(widthOf(bar) - 1 - line, 1), ROW - 1 - line);
  }

  /** @param {number} x @param {number} y */
  barAt(x, y) {
    const inGraph = y + this.scroll.scrollTop;
    const row = this.rows[Math.floor(
      (this.rootBelow ? this.full - inGraph : inGraph) / ROW)];
    return row && row.find(b => x >= b.x && x < b.x + Math.max(b.w, 0.5)) ||
      null;
  }

  /** @param {Bar | null} bar @param {PointerEvent} [event] */
  setHover(bar, event) {
    if (bar !== this.hover) {
      this.hover = bar;
      this.draw();
    }
    this.drawTip(bar, event);
  }

  /** @param {Bar | null} bar @param {PointerEvent} [e] */
  drawTip(bar, e) {
    const { tip } = this;
    tip.hidden = !bar || !e;
    if (!bar || !e) return;
    tip.replaceChildren(...(bar.count > 1 ? this.runTip(bar)
      : this.nodeTip(bar.node)));
    const { offsetWidth: w, offsetHeight: h } = tip;
    const under = e.clientY + 18 + h < innerHeight;
    tip.style.left =
      Math.max(4, Math.min(e.clientX + 12, innerWidth - w - 8)) + 'px';
    tip.style.top =
      Math.max(4, under ? e.clientY + 18 : e.clientY - h - 10) + 'px';
  }

  /** @param {number} node */
  nodeTip(node) {
    const { tree, view } = this;
    const where = [tree.packageOf(node), tree.sourceOf(tree.name[node])];
    return [element('b', tree.nameOf(node)),
      element('div', where.filter(Boolean).join(' · '), { class: 'quiet' }),
      ...tree.describe(node, view).map(line => element('div', line))];
  }

  /** @param {Bar} bar */
  runTip(bar) {
    const { tree } = this, units = tree.view(bar.node, bar.end).width;
    const list = tree.heaviest(bar, LISTED).map(i => element('div',
      `${tree.brief(i)} ${shorten(tree.nameOf(i), 60)}`));
    return [element('b', `${bar.count} narrow frames: ${tree.share(units)}`),
      ...list, element('div', 'Click to spread them out',
        { class: 'quiet' })];
  }

  /** @param {PointerEvent} e */
  point(e) { this.setHover(this.barAt(e.offsetX, e.offsetY), e); }

  /** @param {MouseEvent} e */
  click(e) {
    const bar = this.barAt(e.offsetX, e.offsetY);
    if (!bar) return;
    if (bar.count === 1) this.on.choose(bar.node);
    this.on.zoom(this.tree.view(bar.node, bar.end));
  }

  /** @param {MouseEvent} e */
  menu(e) {
    const bar = this.barAt(e.offsetX, e.offsetY);
    if (!this.on.menu || !bar || bar.count > 1 || bar.node === 0) return;
    e.preventDefault();
    this.setHover(null);
    this.on.choose(bar.node);
    this.on.menu(bar.node, e.clientX, e.clientY);
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const { tree, chosen } = this;
    const [up, down] = this.rootBelow ? ['ArrowDown', 'ArrowUp']
      : ['ArrowUp', 'ArrowDown'];
    /** @type {Record<string, () => number>} */
    const moves = {
      [up]: () => tree.parent[chosen],
      [down]: () => tree.heaviestChild(chosen),
      ArrowLeft: () => tree.beside(chosen, -1, this.view),
      ArrowRight: () => tree.beside(chosen, 1, this.view),
      Home: () => this.view.first,
    };
    const next = moves[e.key]?.();
    if (e.key === 'Enter' || e.key === ' ') this.on.zoom(tree.view(chosen));
    else if (next === undefined) return;
    else if (next >= 0) this.on.choose(next);
    e.preventDefault();
  }
}

export { Flame, element };
