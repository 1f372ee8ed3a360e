-- Makes objects, sorts, counts words and calls functions, N times, so that a
-- benchmark of Lua has work.
--
--	objects.lua N
local n = tonumber(arg[1])
local Point = {}
Point.__index = Point
function Point.new(x, y) return setmetatable({x = x, y = y}, Point) end
function Point:add(o) return Point.new(self.x + o.x, self.y + o.y) end
local function fib(k) return k < 2 and k or fib(k - 1) + fib(k - 2) end
local sum = 0
for i = 1, n do
  local p, t, words = Point.new(0, 0), {}, {}
  for k = 1, 300 do
    p = p:add(Point.new(k, i))
    t[k] = (k * 7919 + i) % 1009
    words[#words + 1] = "k" .. k % 50
  end
  table.sort(t)
  table.sort(t, function(a, b) return a > b end)
  local seen = {}
  for _, w in ipairs(words) do seen[w] = (seen[w] or 0) + 1 end
  local text = table.concat(words, ",")
  for w, d in text:gmatch("(%a)(%d+)") do sum = sum + #w + tonumber(d) end
  sum = sum + fib(15) + p.x + t[1] + seen.k1
end
print(sum)
