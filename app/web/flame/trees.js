/*
 * The trees of a profile: the one that was captured, and those made from it
 * step by step. The most recent ones are kept. A worker thread makes the trees
 * of large profiles, if the page can have one, so that the page never freezes.
 */
import { bottomUp, callees, callers, filtered } from './merge.js';
import { DiffTree } from './diff.js';
import { Tree } from './model.js';

/** @import { AnyDoc, AnyTree, Columns, Step } from './types' */

const MANY = 50000; /* more nodes are too many to be handled at once */
const KEPT = 8;

/** @param {AnyDoc} doc */
const treeOf = doc => doc.base ? new DiffTree(doc) : new Tree(doc);

/** @param {AnyTree} tree @param {Step} step @returns {AnyTree} */
function follow(tree, [what, of]) {
  switch (what) {
  case 'filtered': return filtered(tree, of);
  case 'bottomUp': return bottomUp(tree);
  case 'callers': return callers(tree, of);
  case 'callees': return callees(tree, of);
  case 'heavyFirst': return tree.heavyFirst();
  }
}

class Trees {
  /** @type {Map<string, AnyTree>} */ made = new Map();

  /** @param {AnyDoc} doc @param {(() => Worker)} [newWorker] */
  constructor(doc, newWorker) {
    this.doc = doc;
    this.source = treeOf(doc);
    this.newWorker = this.source.n > MANY ? newWorker : undefined;
    /** @type {Worker | undefined} */
    this.worker = undefined;
  }

  /* The tree at the end of some steps. */
  /** @param {Step[]} steps @returns {AnyTree} */
  of(steps) {
    const step = steps.at(-1), key = JSON.stringify(steps);
    if (!step) return this.source;
    return this.keep(key, this.made.get(key) ??
      follow(this.of(steps.slice(0, -1)), step));
  }

  /** @param {string} key @param {AnyTree} tree */
  keep(key, tree) {
    this.made.delete(key); /* the last used is at the end */
    this.made.set(key, tree);
    for (const old of [...this.made.keys()].slice(0, -KEPT))
      this.made.delete(old);
    return tree;
  }

  /* Has the worker make the trees of the lists of steps, and then calls
   * then(). Unless that is at once, calls begun() before. */
  /**
   * @param {Step[][]} lists @param {() => void} then
   * @param {() => void} begun
   */
  prepare(lists, then, begun) {
    const keys = lists.filter(steps => steps.length > 0).map(steps =>
      JSON.stringify(steps));
    const missing = new Set(keys.filter(key => !this.made.has(key)));
    if (missing.size === 0 || !this.newWorker) return then();
    begun();
    if (!this.worker) {
      this.worker = this.newWorker();
      this.worker.postMessage(this.doc);
    }
    const { worker } = this, stop = new AbortController();
    const { signal } = stop;
    const end = () => {
      stop.abort();
      then();
    };
    worker.addEventListener('message', ({ data: { key, columns } }) => {
      if (!missing.delete(key)) return;
      this.keep(key, this.source.derive(columns));
      if (missing.size === 0) end();
    }, { signal });
    worker.addEventListener('error', end, { signal });
    for (const key of missing) worker.postMessage(key);
  }

  close() { this.worker?.terminate(); }
}

/* The worker's end: answers each message except the first, which is the
 * document. */
/** @param {(reply: { key: string, columns: Columns }) => void} reply */
function serve(reply) {
  /** @type {Trees | undefined} */
  let trees;
  /** @param {AnyDoc | string} message */
  return message => {
    if (typeof message !== 'string') trees = new Trees(message);
    else if (trees) reply({ key: message,
      columns: trees.of(JSON.parse(message)).columns() });
  };
}

export { Trees, serve };
