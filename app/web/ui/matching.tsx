/*
 * The match of a service while it is typed: the processes that it selects now.
 * Until there is one, those to choose from, which a word looks through.
 */
import { useEffect, useState } from 'preact/hooks';
import { get } from './api';
import { fromLines } from './form';
import { sentence } from './parts';
import { useData } from './use';

type Process = { pid: number; unit: string; executable: string;
  command: string };
type Found = { processes: Process[]; matching: number; outOfScope: number };
type Host = { host: string; answered: boolean; found: Partial<Found> };
type Survey = { items: Host[] };

const PAUSE_MS = 300, REFRESH_MS = 5e3, SHOWN = 8;
/* Programs that run others: their executable says little. */
const INTERPRETER = /\/(python|node|java|ruby|php|perl|bash|dash|sh)[\d.]*$/;

/* The text, once nothing was typed for a while. */
function useSettled(text: string) {
  const [settled, set] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => set(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function queryOf(text: string) {
  if (!text.includes('=')) return '';
  try {
    return String(new URLSearchParams(Object.entries(fromLines(text, true))
      .map(([name, value]) => [name, String(value)])));
  } catch {
    return null; /* not a whole line yet */
  }
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/* The match that means a process and what is started in its place later. */
export function matchOf({ unit, executable, command }: Process) {
  if (unit.endsWith('.service') && !/^user@\d+\./.test(unit))
    return `unit = ${unit}`;
  return executable && !INTERPRETER.test(executable) ? `exe = ${executable}`
    : `cmdline = ^${escaped(command.split(' ').slice(0, 2).join(' '))}( |$)`;
}

export function Matching({ text, choose }:
  { text: string; choose: (match: string) => void }) {
  const settled = useSettled(text), query = queryOf(settled);
  const { data, error } = useData('survey ' + query, async signal =>
    query === null ? null
      : get<Survey>(`/api/v1/processes?${query}`, signal), REFRESH_MS);
  const hosts = data?.items ?? [], word = settled.trim().toLowerCase();
  const isWanted = (p: Process) => query !== '' ||
    `${p.pid} ${p.command} ${p.executable} ${p.unit}`.toLowerCase()
      .includes(word);
  return <div class="matching">
    <p role="status" class={error ? 'bad' : 'quiet'}>{error
      ? sentence(error.message) : data ? told(hosts, query === '') : ''}</p>
    {!error && hosts.map(h => <ul key={h.host}>
      {(h.found.processes ?? []).filter(isWanted)
        .slice(0, query === '' ? undefined : SHOWN).map(p => <li key={p.pid}>{query === ''
          ? <button type="button" title={p.command}
            onClick={() => choose(matchOf(p))}><Words of={p} /></button>
          : <span title={p.command}><Words of={p} /></span>}
        </li>)}</ul>)}
  </div>;
}

function Words({ of }: { of: Process }) {
  return <><span class="quiet">{of.pid}</span> {of.command || of.executable}
    {of.unit && <span class="quiet"> {of.unit}</span>}</>;
}

/* What was found, in a sentence or two. */
function told(hosts: Host[], isAll: boolean) {
  const sum = (of: 'matching' | 'outOfScope') =>
    hosts.reduce((n, h) => n + (h.found[of] ?? 0), 0);
  const n = sum('matching'), out = sum('outOfScope');
  const late = hosts.filter(h => !h.answered).map(h => h.host).join(', ');
  if (hosts.length === 0) return 'No worker is alive that could look.';
  const first = isAll
    ? n ? 'Choose from what runs, or type:' : 'Nothing runs here that this '
      + 'tenant may profile: [scope] in stoker.conf says what it may.'
    : n === 0 ? 'No process matches now.'
      : n === 1 ? 'One process matches:' : `${n} processes match:`;
  return [first, out && `${out} more outside of the tenant's scope, which is `
    + 'set in stoker.conf.', late && `No answer yet from ${late}.`]
    .filter(Boolean).join(' ');
}
