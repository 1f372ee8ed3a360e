// Like share.c with "work". Ends by itself on SIGTERM, for --cpu-prof.
'use strict';
const { writeSync } = require('fs');

function share_60() {
  let total = 0;
  for (let i = 0; i < 60000; i++) total += i % 7;
  return total;
}

function share_30() {
  let total = 0;
  for (let i = 0; i < 30000; i++) total += i % 7;
  return total;
}

function share_10() {
  let total = 0;
  for (let i = 0; i < 10000; i++) total += i % 7;
  return total;
}

let rounds = 0, printed = 0, ended = false;
process.on('SIGTERM', () => { ended = true; });

function some() {
  const until = Date.now() + 20;
  while (Date.now() < until) {
    share_60(), share_30(), share_10();
    rounds++;
  }
  const { user, system } = process.cpuUsage();
  const cpu = (user + system) / 1e6;
  if (cpu - printed >= 0.02) {
    printed = cpu;
    writeSync(1, `${rounds} ${cpu}\n`);
  }
  if (!ended) setImmediate(some);
}
some();
