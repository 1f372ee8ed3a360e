// Spends time and memory in functions with names, for node --cpu-prof.
const kept = [];
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }
function cold(n) { return hot(n / 4); }
function keep() { kept.push(new Array(1000).fill(kept.length)); }
const end = Date.now() + 1500;
while (Date.now() < end) { hot(1e6); cold(1e6); keep(); }
