/*
 * The types by which modules of the flame graph pass data. Comments in the
 * modules name these types, and the compiler of the application checks them.
 */
import type { DiffTree } from './diff.js';
import type { Flame } from './flame.js';
import type { Tree } from './model.js';

export type Column = ArrayLike<number>;

/* How reliable a profile is. */
export type Quality = { verdict?: string; reasons?: string[]; notes?: string[];
  allocatedLeastBytes?: number; allocatedMostBytes?: number };

export type Kind = { kind: string; about: string; names: number[] };

/* A function that changed, or whose total rose, by more than chance. */
export type Change = { name: number; deltaPct: number; pValue: number };

/*
 * The document of a profile: export_json.c. In the document of two profiles,
 * which has more members (diff_json.c), these describe the comparison.
 */
export type Doc = {
  id?: string;
  title: string;
  service: string;
  type: string;
  unit: string;
  startedAt: string;
  durationMs: number;
  total: number;
  totalSamples: number;
  quality: Quality;
  formats: Record<string, string>;
  names: string[];
  packages: string[];
  files: string[];
  file: Column;
  line: Column;
  kinds: Kind[];
  depth: Column;
  name: Column;
  self: Column;
  totals: Column;
  scale?: number;
  base?: undefined;
};

export type Base = Pick<Doc, 'id' | 'title' | 'service' | 'startedAt' |
  'durationMs' | 'total' | 'totalSamples' | 'quality'>;

export type DiffDoc = Omit<Doc, 'base'> & {
  base: Base;
  baseSelf: Column;
  baseTotals: Column;
  baseScale: number;
  normalize: string;
  shape: Shape;
  sure: number[];
  changes: Change[];
  risen: Change[];
  verdict: string;
  verdictText: string;
  reason: string;
  shiftedFunction: string | null;
  shiftedAt: string | null;
  overallDelta: number | null;
  overallDeltaLow: number;
  overallDeltaHigh: number;
};

export type AnyDoc = Doc | DiffDoc;
export type AnyTree = Tree | DiffTree;
export type Shape = 'after' | 'before' | 'both';

/* Siblings of a tree: from first up to the one before end. */
export type View = { first: number; last: number; end: number; width: number };
export type Span = Pick<View, 'first' | 'end'>;

/* One node, or neighbours too narrow to be drawn one by one. */
export type Bar = { node: number; end: number; count: number; x: number;
  w: number; above: boolean };
export type SeenBar = { bar: Bar; y: number; fill: string; ink: string };

/* Functions that a test accepts, and their nodes. */
export type Test = (name: string) => boolean;
export type Marks = { names: Uint8Array; before: Int32Array; total: number;
  frames: number };

/* Columns of another tree of the same profile, in preorder; parent and end, if
 * known; cut: the number of frames without callers there (merge.js). */
export type Columns = { depth: Int32Array; name: Int32Array;
  self: Float64Array; total: Float64Array; baseSelf?: Float64Array;
  baseTotal?: Float64Array; sure?: Uint8Array; parent?: Int32Array;
  end?: Int32Array; cut?: number };

/* A way to make a tree from another: trees.js. Functions are indexes of
 * names. */
export type Step = ['filtered', Filter[]] | ['bottomUp', null?] |
  ['heavyFirst', null?] | ['callers', number] | ['callees', number];

/* Reads a colour of the style sheet. */
export type Read = (name: string) => string;
export type Fills = { node: (i: number) => string;
  name: (name: number, isTotal?: boolean) => string };

export type Sort = 'self' | 'total' | 'name' | 'package' | 'base' | 'now' |
  'change';

/* A row of the table; for two profiles, with the values of both sides. */
export type Row = { name: number; self: number; total: number;
  isTotal?: boolean; now: number; base: number };
export type Cell = { text: string; title: string; meter: string };

export type What = 'focus' | 'hide' | 'fold' | 'fold-package' | 'fold-kind' |
  'focus-text' | 'hide-text' | 'fold-text';
export type Filter = [What, string];
export type Drawing = 'icicle' | 'flame' | 'sides' | 'bottomup' | 'sandwich';
export type List = 'source' | 'code';

/* All that is visible of one graph. */
export type State = {
  view: View;
  query: string;
  fn: string;
  drawing: Drawing;
  filters: Filter[];
  isHeavy: boolean;
  byOrigin: boolean;
  shape?: Shape;
  sort: Sort;
  reversed: boolean;
  table: boolean;
  columns: string[];
  lines: List | '';
};

export type Pane = { scroll: HTMLElement; canvas: HTMLCanvasElement;
  spacer: HTMLElement; tip: HTMLElement };
/* The functions that a picture calls. */
export type On = { choose: (node: number) => void; zoom: (view: View) => void;
  menu?: (node: number, x: number, y: number) => void };

/* A text or a link for a place in the source: "file:line". */
export type Placed = (place: string, text?: string) => string | HTMLElement;

/* format=listing: export_listing.c */
export type Listing = {
  total: number;
  unit: string;
  leftOut: number;
  files: (From & { file: string; state?: string; lines: Line[] })[];
  functions: (From & { function: string; module: string;
    code: (Cost & { address: string; text: string; file?: string;
      line?: number })[] })[];
};
export type Cost = { self: number; total: number };
export type Line = Cost & { line: number; text?: string };
export type From = { from?: { id: string; at: string; build: string }[] };

/* Elements of page.html, by the attribute `part`. */
type Special = {
  search: HTMLInputElement;
  kinds: HTMLDetailsElement;
  columns: HTMLDetailsElement;
  export: HTMLDetailsElement;
  keys: HTMLDialogElement;
  'by-hand': HTMLDialogElement;
  'by-hand-text': HTMLTextAreaElement;
  reset: HTMLButtonElement;
  'more-actions': HTMLButtonElement;
  formats: HTMLUListElement;
  rows: HTMLTableSectionElement;
  'lines-rows': HTMLTableSectionElement;
};
type Plain = 'aside' | 'base' | 'base-title' | 'bottomup' | 'callees' | 'callees-title' | 'callers' |
  'callers-title' | 'center' | 'chosen' | 'comparison' | 'comparison-title' |
  'copy' | 'copy-stack' | 'crumbs' |
  'cut' | 'details' | 'divider' | 'facts' | 'filters' | 'flame' | 'found' |
  'help' | 'icicle' | 'legend' | 'lines' | 'lines-choice' | 'lines-close' |
  'lines-note' | 'lines-title' | 'live' | 'matched' | 'menu' | 'more' |
  'notice' | 'numbers' | 'order' | 'quality' | 'sandwich' | 'sandwich-panes' |
  'scroll' | 'service' | 'shape' | 'sides' | 'sides-panes' | 'tip' | 'toast' | 'top' | 'top-title' |
  'type' | 'verdict';
export type Parts = Special & Record<Plain, HTMLElement>;

/* A described frame and its graph, which may be one of the sandwich's. */
export type Chosen = { node: number; flame: Flame };
