-- Waits, for LuaJIT: sleeps, and reads from a pipe, until it is killed. Prints
-- "ready".
local ffi = require "ffi"
ffi.cdef "int usleep(unsigned us);"
local pipe = io.popen("while sleep 0.005; do echo; done", "r")

local function naps() return ffi.C.usleep(2000) + 0 end
local function reads() return #pipe:read() end
local function work()
	return naps() + reads()
end
local resumed = coroutine.wrap(function()
	while true do coroutine.yield(work()) end
end)

print("ready")
io.flush()
while true do resumed() end
