/*
 * Formats names, numbers and colours for people. Pure functions.
 */
import { KIND_FILES, PROFILE_TYPES, SCRIPTS } from './tables.js';

/** @import { Test } from './types' */

/* Control and bidirectional characters could make a name look like another. */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g;
/** @param {string} s */
const visible = s => s.replace(UNSEEN, '\ufffd');

/* The last part of a path. */
/** @param {string} path */
const lastPart = path => path.slice(path.lastIndexOf('/') + 1);

/*
 * Makes a test of names from a query. It matches as a regular expression or as
 * literal text, because `foo(int)` is both. error says why a query is only
 * literal.
 */
/** @param {string} query */
function matcher(query) {
  const text = query.toLowerCase();
  /** @type {Test} */
  const plain = s => s.toLowerCase().includes(text);
  try {
    const re = new RegExp(query, 'i');
    return { test: /** @type {Test} */ (s => re.test(s) || plain(s)),
      error: '' };
  } catch (e) {
    return { test: plain, error: 'not a regular expression, taken as text' };
  }
}

/** @type {Record<string, [number, string][]>} */
const SCALES = {
  nanoseconds: [[6e10, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'],
    [1, 'ns']],
  bytes: [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'], [1, 'B']],
};

/** @param {number} v @param {string} [unit] */
function quantity(v, unit) {
  for (const [size, name] of SCALES[unit ?? ''] || [])
    if (Math.abs(v) >= size || size === 1)
      return (v / size).toFixed(size === 1 ? 0 : 2) + ' ' + name;
  const n = v.toLocaleString('en');
  return unit && unit !== 'count' ? n + ' ' + unit : n;
}

/** @param {number} v @param {number} of */
function percent(v, of) {
  const p = of > 0 ? 100 * v / of : 0;
  return (p > 0 && p < 0.01 ? '<0.01' : p.toFixed(p < 9.995 ? 2 : 1)) + '%';
}

/* Tokens of a name; tokens of several characters are never folded. */
const PIECES =
  /operator(\(\)|[<>-]+)|\(anonymous namespace\)|\(\*[^)]*\)|\(\)|->|[^]/g;

/*
 * Folds template arguments and parameters, which make up most of a long
 * C++ name, but not `operator<`, `(anonymous namespace)` or Go's `.(*T)`.
 */
/** @param {string} name */
function fold(name) {
  let out = '', deep = 0;
  for (const piece of name.match(PIECES) || []) {
    if (piece === '<' || piece === '(') {
      if (deep++ === 0) out += piece + '…';
    } else if ((piece === '>' || piece === ')') && deep > 0) {
      if (--deep === 0) out += piece;
    } else if (deep === 0) {
      out += piece;
    }
  }
  return out;
}

/*
 * Shortens Rust's `<Type as Trait>::f` to a function of the type, and drops the
 * hash at the end of a name.
 */
/** @param {string} name */
function unqualified(name) {
  const s = name.replace(/::h[0-9a-f]{16}$/, '');
  let deep = 0, end = 0;
  for (let i = 0; i < s.length && s[0] === '<'; i++) {
    if (s[i] === '<') deep++;
    else if (deep === 1 && !end && s.startsWith(' as ', i)) end = i;
    else if (s[i] === '>' && s[i - 1] !== '-' && --deep === 0)
      return s.slice(1, end || i) + s.slice(i + 1);
  }
  return s;
}

/* Everything up to the last separator of a name. The dot of `.part.0`, which
 * compilers append, is not one. Rust's closures and arguments belong to the
 * name that they follow. */
const JOINTS =
  /^.*(::(?![<{])|\.(?!cold|part|constprop|isra|llvm|lto_priv|\d+(\.|$)))(?=.)/;

/* The offset after the file, in the name of a place without a symbol. */
const OFFSET = /\+0x[0-9a-f]+$/;

/*
 * Shortens a name to at most max characters by leaving out, in this order:
 * arguments, parameters, directories, the middle of the scopes, all scopes, the
 * end. An offset means nothing without its file, so the beginning of the file
 * is kept.
 */
/** @param {string} raw @param {number} max */
function shorten(raw, max) {
  const name = visible(raw);
  if (name.length <= max) return name;
  let s = fold(unqualified(name));
  if (s.length > max) s = s.replace(/(?<!operator)\(…?\)[^:]*$/, '');
  if (s.length > max && !s.includes('::')) s = s.replace(/^.*\/(?=.)/, '');
  if (s.length <= max) return s;
  const [offset] = OFFSET.exec(s) ?? [];
  const last = offset ?? s.replace(JOINTS, '');
  const room = max - 1 - last.length;
  if (room >= 4 && last !== s) return s.slice(0, room) + '…' + last;
  if (offset) return s.slice(0, max - 1) + '…';
  return last.length <= max ? last : last.slice(0, max - 1) + '…';
}

/* FNV-1a: a package has the same colour in every profile. */
/** @param {string} s */
function hash(s) {
  let h = 0x811c9dc5;
  for (let i = 0; i < s.length; i++)
    h = Math.imul(h ^ s.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ h >>> 16, 0x45d9f3b); /* FNV hardly mixes the last byte */
  return (h ^ h >>> 16) >>> 0;
}

/*
 * OKLCH to sRGB: equal lightness reads equally well in every hue, which
 * HSL's does not. Source: bottosson.github.io/posts/oklab
 */
/** @param {number} light @param {number} chroma @param {number} degrees */
function oklch(light, chroma, degrees) {
  const a = chroma * Math.cos(degrees * Math.PI / 180);
  const b = chroma * Math.sin(degrees * Math.PI / 180);
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3;
  /** @param {number} v */
  const byte = v => Math.round(255 * Math.min(1, Math.max(0,
    v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)));
  return `rgb(${byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s)
  }, ${byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s)
  }, ${byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)})`;
}

/* Functions of one package share a hue and differ a little in lightness. */
/**
 * @param {string} pkg @param {string} name @param {number} light
 * @param {number} chroma
 */
function packageColor(pkg, name, light, chroma) {
  const shade = (hash(name) % 7 - 3) / 150;
  return oklch(light + shade, chroma, hash(pkg) % 360);
}

/*
 * The origin of a function's code. Its file decides, if it is known: packages
 * by others are in separate folders. Go's standard packages have no dot in the
 * first part of their path; other packages may have none, either, but are not
 * below Go's own folder.
 */
const ORIGINS = { own: 'own code', library: 'libraries',
  runtime: 'runtimes and system', kernel: 'kernel' };
const OF_KERNEL = /^\[(kernel|vdso|vsyscall)/;
const OF_RUNTIME = new RegExp('^(\\[|(lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+|c\\+\\+)'
  + '|ld|ld-linux|java)[-_.\\d]*(-x86-64|-aarch64|x86_64)?(\\.so[.\\d]*)?$)');
/* A file of kind.def is whole, or ends in "..." in place of any text. */
const OF_INTERPRETER = KIND_FILES.flatMap(([kind, file]) =>
  kind === 'interpreter' ? file : []);
/** @param {string} base */
const ofInterpreter = base => OF_INTERPRETER.some(file =>
  file.endsWith('...') ? base.startsWith(file.slice(0, -3)) : base === file);
const FILE_OF_RUNTIME =
  /^(\/usr\/(lib|local\/lib)\/(?!.*(-packages|node_modules|gems)\/)(python|ruby|jvm|node|php)[^/]*\/|\/usr\/(local\/go|lib\/go[^/]*)\/|\/rustc\/|\/usr\/include\/c\+\+\/|<frozen |node:)/;
const FILE_OF_LIBRARY =
  /\/((site|dist)-packages|node_modules|gems|vendor|pkg\/mod|\.cargo)\/|@v\d|^\/usr\/(include|lib|share)\//;
const FILE_OF_GO = /\/go[^/]*\/([^/]+\/){0,2}src\//;
const NAME_OF_RUNTIME =
  /^([\w.<>]+ )?(java|javax|jdk|sun|com\.sun)\.|^<?(std|core|alloc)::/;

/**
 * @param {string} pkg @param {string} name @param {string} file
 * @returns {keyof typeof ORIGINS}
 */
function originOf(pkg, name, file) {
  const base = pkg.replace(/^.*\//, '');
  if (OF_KERNEL.test(pkg)) return 'kernel';
  if (FILE_OF_RUNTIME.test(file) || NAME_OF_RUNTIME.test(name)) return 'runtime';
  if (FILE_OF_LIBRARY.test(file)) return 'library';
  if (SCRIPTS.includes(file.replace(/^.*(?=\.)/, ''))) return 'own';
  if (name.startsWith(pkg + '.'))
    return pkg === 'main' || /^[^/]*\./.test(pkg)
      || file[0] === '/' && !FILE_OF_GO.test(file) ? 'own' : 'runtime';
  if (OF_RUNTIME.test(base) || ofInterpreter(base)) return 'runtime';
  return /\.so(\.|$)/.test(base) ? 'library' : 'own';
}

const ORIGIN_HUES = { own: 60, library: 245, runtime: 320, kernel: 0 };
/**
 * @param {keyof typeof ORIGINS} kind @param {string} name @param {number} light
 * @param {number} chroma
 */
const originColor = (kind, name, light, chroma) => oklch(
  light + (hash(name) % 7 - 3) / 150, kind === 'kernel' ? 0.008 : chroma,
  ORIGIN_HUES[kind]);

/* An RFC 3339 time in the browser's time zone, which it names, and in UTC. */
/** @type {Intl.DateTimeFormatOptions} */
const TIME = { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit',
  minute: '2-digit', second: '2-digit', hourCycle: 'h23' };
const zoned = new Intl.DateTimeFormat(undefined,
  { ...TIME, timeZoneName: 'short' });
const unzoned = new Intl.DateTimeFormat(undefined, TIME);
/** @param {string} text */
const local = text => zoned.format(Date.parse(text));
/** @param {string} text */
const utc = text => text.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');

/* A time or a range, given in milliseconds, in the browser's time zone and
 * UTC; just once if that is UTC. */
/** @param {number} from @param {number} [to] */
function clock(from, to = from) {
  /** @param {number} ms */
  const at = ms => new Date(ms).toISOString().slice(11, 19);
  const zone = zoned.formatToParts(to).find(p => p.type === 'timeZoneName');
  const text = `${unzoned.formatRange(from, to)} ${zone?.value}`;
  return new Date(to).getTimezoneOffset() === 0 ? text
    : `${text} (${to === from ? '' : `${at(from)} – `}${at(to)} UTC)`;
}

/* The package of the kernel's symbols is their file, [kernel.kallsyms]. */
/** @param {string} pkg */
const packaged = pkg => pkg.replace(/^\[kernel.*\]$/, 'kernel');

/* The label of the number of samples in a profile of a type. */
/** @param {string} type */
const counted = type => PROFILE_TYPES.get(type)?.counted ?? 'Samples';

export { visible, local, utc, clock, counted, matcher, packaged, lastPart,
  quantity, percent, shorten, packageColor, originColor, originOf, ORIGINS };
