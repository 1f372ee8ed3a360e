# Writes a call tree of n nodes for the page, the same on every run: a few heavy
# stacks, many small ones, long C++ names, depths of 60 and more.
#
#	awk -v n=50000 -f tests/ui/tree.awk

# Park and Miller's generator: exact in a double. CACM 31(10), 1988.
function random(below) {
  seed = (seed * 16807) % 2147483647
  return seed % below
}

function name_of(k) {
  if (k % 5 == 0)
    return "std::__detail::_Hashtable<std::string, shop::Order" k ", std::" \
      "allocator<std::pair<const std::string, int>>>::_M_insert_node(" \
      "unsigned long, unsigned long, void*) const"
  if (k % 7 == 0)
    return "github.com/shop/internal/cart" k % 40 ".(*Store).Load" k
  return "shop::" part[k % 6] "::step_" k "(int, char const*)"
}

# In preorder; budget is a number of nodes, and weight is distributed unevenly.
function grow(level, budget, weight,    kids, k, share, mine, node) {
  node = count++
  depth[node] = level
  name[node] = level == 0 ? 0 : 1 + random(names - 1)
  total[node] = weight
  budget--
  mine = budget < 1 || weight < 2 ? weight : int(weight * random(12) / 100)
  weight -= mine
  kids = level < 4 ? 3 + random(6) : 1 + (random(100) < 26) * random(9)
  for (k = kids; k > 0 && budget > 0 && weight > 0; k--) {
    share = k == 1 ? 1 : (20 + random(60)) / 100
    used = grow(level + 1, ceil(budget * share), ceil(weight * share))
    budget -= used_nodes(used)
    weight -= total[used]
  }
  self[node] = mine + weight
  return node
}

function ceil(x) { return x == int(x) ? x : int(x) + 1 }
function used_nodes(node) { return count - node }

function column(key, array, size,    i) {
  printf "\"%s\":[", key
  for (i = 0; i < size; i++) printf "%s%s", i ? "," : "", array[i]
  printf "]"
}

BEGIN {
  seed = 20260115
  split("cart stock price tax mail", part, " ")
  part[0] = "core"
  names = 300 + int(n / 25)
  for (k = 0; k < names; k++) {
    label[k] = "\"" (k ? name_of(k) : "all") "\""
    pkg[k] = "\"" (k ? "lib" part[k % 6] ".so." k % 4 : "") "\""
  }
  grow(0, n, 60 * 1000000000)
  printf "{\"version\":1,\"id\":\"sess-1\",\"title\":\"shop cpu\","
  printf "\"service\":\"shop\",\"type\":\"cpu\",\"unit\":\"nanoseconds\","
  printf "\"startedAt\":\"2026-01-15T08:00:00.123Z\",\"durationMs\":30000,"
  printf "\"total\":%.0f,\"totalSamples\":6000,", total[0]
  column("names", label, names)
  printf ","
  column("packages", pkg, names)
  printf ",\"files\":[\"\",\"/src/shop/cart.cc\"],"
  for (k = 0; k < names; k++) {
    file[k] = k % 2
    line[k] = k % 2 ? 10 * k : 0
  }
  column("file", file, names)
  printf ","
  column("line", line, names)
  printf ",\"kinds\":[{\"kind\":\"recursion\",\"about\":\"\",\"names\":[]}],"
  column("depth", depth, count)
  printf ","
  column("name", name, count)
  printf ","
  CONVFMT = OFMT = "%.0f"
  column("self", self, count)
  printf ","
  column("totals", total, count)
  print ",\"quality\":{},\"formats\":{\"svg\":\"A picture\"}}"
}
