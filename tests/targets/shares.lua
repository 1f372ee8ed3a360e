-- Spends its time in known shares, for LuaJIT.
--
--	shares.lua SECONDS [states]
--
-- With `states`, C also enters other states of Lua, which are gone soon.
-- Of what it spends in Lua, 60, 30 and 10 percent go to the functions of these
-- names. Functions are called in every way in which Lua does: by C functions, as
-- metamethods, as methods, in coroutines, protected, with variable arguments and
-- as the last call. Prints "ready".
local seconds = tonumber(arg[1])

local function spin(n)
	local t = 0
	for i = 1, n do t = t + i % 7 end
	return t
end

function share_60() -- global
	for _ = 1, 60 do spin(100) end
end

local shop = {}
function shop.share_30() -- a field
	for _ = 1, 30 do spin(100) end
end
function shop:share_10() -- a method
	for _ = 1, 10 do spin(100) end
end

local function work()
	share_60()
	shop.share_30()
	shop:share_10()
end

-- C calls Lua, which calls C.
local numbers = {}
for i = 1, 50 do numbers[i] = (i * 37) % 50 end
local function less(a, b)
	spin(10)
	return a < b
end
local function sorted()
	local copy = {}
	for i = 1, 50 do copy[i] = numbers[i] end
	table.sort(copy, less)
end
local function replaced()
	return (string.gsub("abcdefgh", "%w", function(c) spin(200) return c end))
end

-- Metamethods: called by an instruction, or from C.
local point = {}
point.__index = function(_, k) spin(300) return k end
point.__add = function(a) spin(300) return a end
local function operators()
	local p = setmetatable({}, point)
	return p.x, p + p
end

-- The last call of a function takes its place.
local function last() return spin(500) end
local function last_call() return last() end

local function variable(...)
	local n = select("#", ...)
	spin(500)
	return n, ...
end

-- A coroutine in a coroutine, and one that fails.
local inner = coroutine.wrap(function()
	while true do
		spin(500)
		coroutine.yield()
	end
end)
local outer = coroutine.wrap(function()
	while true do
		inner()
		spin(500)
		coroutine.yield()
	end
end)
local function failing()
	pcall(function() spin(300) error("expected") end)
	xpcall(function() spin(300) end, debug.traceback)
end

local ffi = require "ffi"
ffi.cdef [[
	struct lua_State *luaL_newstate(void);
	int luaL_loadstring(struct lua_State *l, const char *code);
	int lua_pcall(struct lua_State *l, int args, int results, int handler);
	void lua_close(struct lua_State *l);
]]
local function other_state()
	local l = ffi.C.luaL_newstate()
	ffi.C.luaL_loadstring(l, [[
		local function inside(n)
			local t = 0
			for i = 1, n do t = t + i % 7 end
			return t
		end
		inside(3000)
	]])
	ffi.C.lua_pcall(l, 0, 0, 0)
	ffi.C.lua_close(l)
end

print("ready")
io.flush()
local ends = os.time() + seconds
while os.time() < ends do
	spin(math.random(30000)) -- or the loop keeps step with the samples
	for _ = 1, 2 do work() end
	sorted()
	replaced()
	operators()
	last_call()
	variable(1, 2, 3)
	outer()
	failing()
	if arg[2] then other_state() end
end
