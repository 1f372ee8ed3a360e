# A tree of tasks: who awaits whom is known, and so is the share of each of the
# leaves, which take turns. With an argument, the program stops where the first
# leaf runs, or all wait: "runs", "waits".
import asyncio
import functools
import os
import signal
import sys
import time

SHARES = {"gathers": 0.3, "groups": 0.2, "waits": 0.2, "limits": 0.2, "awaits": 0.1}
stop = sys.argv[2] if len(sys.argv) > 2 else ""
end = time.monotonic() + float(sys.argv[1])


def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(3000))


async def inner(share):
    if stop == "runs":
        os.kill(os.getpid(), signal.SIGSTOP)
    spin(share / 100)
    await asyncio.sleep(0)


async def leaf(share):
    while time.monotonic() < end:
        await inner(share)
        if stop == "waits":
            await asyncio.sleep(60)


async def step(name):
    task = asyncio.ensure_future(leaf(SHARES[name]))
    if hasattr(task, "set_name"):
        task.set_name("leaf of " + name)
    return task


async def gathers():
    await asyncio.gather(await step("gathers"), asyncio.sleep(0.01))


async def groups():
    if not hasattr(asyncio, "TaskGroup"):
        await (await step("groups"))
        return
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf(SHARES["groups"]), name="leaf of groups")


async def waits():
    await asyncio.wait([await step("waits")])


async def limits():
    await asyncio.wait_for(leaf(SHARES["limits"]), 600)


async def awaits():
    task = await step("awaits")
    task.add_done_callback(functools.partial(print, file=sys.stderr))
    await task


async def main():
    tasks = [asyncio.ensure_future(f()) for f in (gathers, groups, waits, limits, awaits)]
    for task in tasks:
        if hasattr(task, "set_name"):
            task.set_name("all")
    print("ready", flush=True)
    await asyncio.gather(*tasks)


asyncio.run(main())
