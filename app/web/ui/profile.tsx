/* One profile or two, drawn as in saved pages: app/web/flame. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { openPage } from '../flame/page.js';
import type { AnyDoc } from '../flame/types';
import { get, send } from './api';
import { useSource } from './source';

/* The API's reply for format=json or columns. */
export type Doc = AnyDoc;

const ARRAYS: Record<number, new (bytes: ArrayBuffer, at: number,
  n: number) => ArrayLike<number>> = { 1: Uint8Array, 2: Uint16Array,
    4: Uint32Array, 8: Float64Array };

/* A profile as columns: see export_columns.c. */
export async function getColumns(address: string, signal: AbortSignal) {
  const url = new URL(address, location.origin);
  url.searchParams.set('format', 'columns');
  return columnsOf(await send(url.href, { signal }));
}

/* The profile of a range; null if the range has none. */
export async function getRange(address: string, signal: AbortSignal) {
  const reply = await send(`${address}&format=columns&optional=true`,
    { signal });
  return reply.status === 204 ? null : columnsOf(reply);
}

async function columnsOf(reply: Response) {
  const bytes = await reply.arrayBuffer();
  let at = 4 + new DataView(bytes).getUint32(0, true);
  const doc = JSON.parse(new TextDecoder().decode(
    new Uint8Array(bytes, 4, at - 4)));
  for (const [name, width] of Object.entries<number>(doc.columns)) {
    doc[name] = new ARRAYS[width](bytes, at, doc.nodes);
    at += Math.ceil(doc.nodes * width / 8) * 8;
  }
  return doc as Doc;
}

type Policy = { createScriptURL: (url: string) => string };
type Factory = { createPolicy: (name: string, rules: Policy) => Policy };
const { trustedTypes } = window as { trustedTypes?: Factory };
/* The server's policy allows HTML from this script only; Firefox may lack such
 * policies. */
const template = () => document.getElementById('profile-parts') as
  HTMLTemplateElement;
const rules: Policy = { createScriptURL: () => template().dataset.worker! };
const policy = trustedTypes?.createPolicy('stoker-worker', rules) ?? rules;
const newWorker = () => new Worker(policy.createScriptURL(''),
  { type: 'module' });

/* address: the URL of the profile's other formats; isOld: another profile is
   being loaded; version: the label of all that is shown; verdictAt: another
   place to show the verdict of a comparison. */
export function Profile({ doc, address, isOld = false, version, verdictAt }: {
  doc: Doc; address: string; isOld?: boolean; version?: string;
  verdictAt?: RefObject<HTMLElement | null> }) {
  const box = useRef<HTMLDivElement>(null);
  const open = useRef<ReturnType<typeof openPage>>(undefined);
  const source = useSource(doc.service, version), linked = useRef(source);
  linked.current = source;
  useLayoutEffect(() => {
    if (!open.current?.renew(doc, address)) {
      open.current?.close();
      box.current!.replaceChildren(
        document.importNode(template().content, true));
      open.current = openPage(box.current!, doc, { address, fetched: get,
        newWorker, linked: place => linked.current(place) });
      const verdict = partOf(box.current!, 'verdict');
      if (doc.base) verdictAt?.current?.replaceChildren(verdict);
    }
    addSpeedscope(partOf(box.current!, 'formats'), doc, address);
  }, [doc]);
  useLayoutEffect(() => open.current?.relink(), [source('a:1')]);
  useLayoutEffect(() => () => open.current?.close(), []);
  return <div class="profile" ref={box} aria-busy={isOld} />;
}

const partOf = (root: HTMLElement, part: string) =>
  root.querySelector(`[part=${part}]`)!;

/* An export that saved pages lack: speedscope loads a profile from this server
   with the reader's session. It does not show comparisons. */
function addSpeedscope(formats: Element, doc: Doc, address: string) {
  if (doc.base) return;
  const a = document.createElement('a');
  const from = address + (address.includes('?') ? '&' : '?') +
    'format=speedscope';
  a.href = `/ui/speedscope/#profileURL=${encodeURIComponent(from)}&title=${
    encodeURIComponent(`${doc.service} ${doc.type}`)}`;
  a.target = '_blank';
  a.rel = 'noopener';
  a.textContent = 'Open in speedscope';
  const item = document.createElement('li');
  item.append(a);
  formats.append(item);
}
