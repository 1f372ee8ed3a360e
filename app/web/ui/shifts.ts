/* The times since which functions cost more or less, in words and as marks. */
import { shorten } from '../flame/text.js';
import type { Mark } from './marks';
import type { Shift, Shifted } from './replies';

const DAY_MS = 864e5;

const time = new Intl.DateTimeFormat(undefined, { hour: '2-digit',
  minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric',
  month: 'short' });

/* A time of day, with the date if it may be another day. */
const at = (text: string) => {
  const ms = Date.parse(text);
  return (Date.now() - ms > DAY_MS ? day.format(ms) + ' ' : '') +
    time.format(ms);
};

export const change = (factor: number | null) => factor === null ? 'is new'
  : factor === 0 ? 'is gone'
    : factor >= 2 ? `costs ${factor.toFixed(1)} times as much`
      : `costs ${Math.abs(100 * (factor - 1)).toFixed(0)} % ${factor < 1
        ? 'less' : 'more'}`;

export const between = (s: Shift) =>
  `(between ${at(s.earliest)} and ${at(s.latest)})`;

/* "costs 2.6 times as much since 20:16:30 (between 20:15:50 and 20:16:40)" */
export const since = (s: Shift) =>
  `${change(s.factor)} since ${at(s.at)} ${between(s)}`;

const steady = ({ samples, leastFactor }: Shifted) => leastFactor === null
  ? `: ${samples.toLocaleString('en')} samples are too few to find a change`
  : `: no change found in ${samples.toLocaleString('en')} samples; one to ${
    leastFactor.toFixed(1)} times as much would show`;

export const sentenceOf = (of: Shifted) => shorten(of.function, 60) +
  (of.cost === 'total' && of.shifts.length > 0 ? ', with what it calls,' : '') +
  (of.shifts.length > 0 ? ' ' + of.shifts.map(since).join('; then it ')
    : steady(of));

export const marksOf = (of: Shifted): Mark[] => of.shifts.map(s => ({
  at: Date.parse(s.at), kind: 'shift', text: `${shorten(of.function, 60)} ${
    since(s)}`, within: [Date.parse(s.earliest), Date.parse(s.latest)] }));
