/* The keys that work on a page, as a list that `?` opens. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { turnTheme } from '../flame/theme.js';

/* A section is shown on pages to which it applies. */
type Section = { title: string; of: string; keys: [string, string][] };
const SECTIONS: Section[] = [
  { title: 'Chart', of: '[aria-roledescription="chart"]', keys: [
    ['← →', 'Point before, point after'],
    ['PgUp PgDn', 'Ten points at once'],
    ['Enter', 'Begin a range, end it'],
    ['Esc', 'Leave the range'],
  ] },
  { title: 'Heat map', of: '[aria-roledescription="heat map"]', keys: [
    ['← →', 'Column before, column after'],
    ['↑ ↓', 'Slot after, slot before'],
    ['Enter', 'Begin a range, end it'],
    ['Esc', 'Leave the range'],
  ] },
];
const EVERYWHERE: [string, string][] = [
  ['Tab', 'Next control, link or chart'],
  ['/', 'Filter or search'],
  ['d', 'Light or dark colours'],
  ['Esc', 'Close what is open'],
  ['?', 'This list'],
];

/* The flame graph handles its keys itself. */
const hasFlame = () => document.querySelector('.page .profile') !== null;
const field = () =>
  document.querySelector<HTMLElement>('.page input[type="search"]');

export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.altKey || e.metaKey || document.querySelector(
        'dialog[open]') || (e.target as Element).matches?.(
        'input, select, textarea')) return;
      if (e.key === '?') setOpen(true);
      else if (hasFlame()) return;
      else if (e.key === 'd') turnTheme();
      else if (e.key === '/' && field()) field()!.focus();
      else return;
      e.preventDefault();
      e.stopPropagation();
    };
    document.addEventListener('keydown', onKey, true);
    return () => document.removeEventListener('keydown', onKey, true);
  }, []);
  useEffect(() => { if (isOpen) dialog.current!.showModal(); }, [isOpen]);
  return <>
    <button type="button" class="plain wide" title="Keys (?)"
      aria-label="Keys" aria-haspopup="dialog" onClick={() => setOpen(true)}>?
    </button>
    {isOpen && <dialog class="keys" ref={dialog} aria-labelledby="app-keys"
      onClose={() => setOpen(false)}>
      <div class="head"><h2 id="app-keys">Keys</h2>
        <form method="dialog"><button>Close</button></form></div>
      <div class="key-sections">
        <List title="Everywhere" keys={EVERYWHERE} />
        {SECTIONS.filter(s => document.querySelector(s.of)).map(s =>
          <List key={s.title} {...s} />)}
        {hasFlame() && <FlameKeys />}
      </div>
    </dialog>}
  </>;
}

function List({ title, keys }: { title: string; keys: [string, string][] }) {
  return <section><h3>{title}</h3>
    <dl>{keys.flatMap(([names, what]) => [
      <dt key={names}>{names.split(' ').map(name =>
        <kbd key={name}>{name}</kbd>)}</dt>,
      <dd key={names + ' dd'}>{what}</dd>])}</dl></section>;
}

/* The keys of the flame graph, from its own list. */
function FlameKeys() {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const parts = document.getElementById('profile-parts');
    const list = (parts as HTMLTemplateElement).content.querySelector(
      '[part=keys] dl')!;
    const copy = document.importNode(list, true);
    box.current!.append(copy);
    return () => copy.remove();
  }, []);
  return <section ref={box}><h3>Flame graph</h3></section>;
}
