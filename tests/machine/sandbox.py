#!/usr/bin/env python3
"""Tries what a unit's sandbox must refuse and what it must allow.

    sandbox.py api|worker|root

Runs in the place of the unit's program, under the unit's settings. Prints
"ok NAME" for each try that went as it must, else "not ok NAME: why". For root,
who has no sandbox, each must succeed: what nobody can do proves nothing.
System calls are those of x86-64.
"""
import ctypes
import errno
import mmap
import os
import socket
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)
STORE = "/var/lib/stoker/probe"


def check(result):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def call(number, *arguments):
    """A system call that comes to nothing by its arguments, if it is let."""
    def attempt():
        try:
            check(libc.syscall(number, *arguments))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EFAULT, errno.ENOENT,
                                   errno.ENOSYS):
                raise
    return attempt


def write(path):
    def attempt():
        with open(path, "w") as file:
            file.write("x")
        os.unlink(path)
    return attempt


def set_to(path, value):
    def attempt():
        with open(path, "w") as file:
            file.write(value)
    return attempt


def read(path):
    def attempt():
        with open(path, "rb") as file:
            file.read(20)
    return attempt


def connect(path):
    return lambda: socket.socket(socket.AF_UNIX).connect(path)


def family(number, kind=socket.SOCK_DGRAM):
    return lambda: socket.socket(number, kind, 0).close()


def kernel_symbols():
    with open("/proc/kallsyms") as file:
        if int(file.readline().split()[0], 16) == 0:
            raise OSError("addresses are hidden")


def other_processes():
    if len([name for name in os.listdir("/proc") if name.isdigit()]) < 5:
        raise OSError("/proc shows this process only")


def other_sockets():
    for folder, _, files in os.walk("/run"):
        for name in files:
            path = os.path.join(folder, name)
            if folder != "/run/stoker" and stat.S_ISSOCK(os.stat(path).st_mode):
                return
    raise OSError("/run holds no socket but the API's")


def host_tmp():
    os.stat("/tmp/of-the-host")


def folder_of_the_group():
    """As the store makes one: the setgid bit comes from the parent."""
    os.mkdir(STORE, 0o770)
    try:
        if os.stat(STORE).st_mode & 0o7777 != 0o2770:
            raise OSError("mode %o" % os.stat(STORE).st_mode)
    finally:
        os.rmdir(STORE)


def with_a_file(change):
    def attempt():
        with open(STORE, "w"):
            pass
        try:
            change(STORE)
        finally:
            os.unlink(STORE)
    return attempt


def device():
    os.mknod(STORE, 0o20600, os.makedev(1, 1))
    os.unlink(STORE)


def cgroup():
    base = "/sys/fs/cgroup/unified"
    if not os.path.exists(base):
        base = "/sys/fs/cgroup"
    os.mkdir(base + "/probe")
    os.rmdir(base + "/probe")


def writable_code():
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(4096), 7,
                   mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0))
    if at == ctypes.c_void_p(-1).value:
        check(-1)


def event_of_all():
    """cpu-clock of every process on CPU 0."""
    attr = (ctypes.c_uint32 * 32)(1, 128)
    os.close(check(libc.syscall(298, attr, -1, 0, -1, 0)))


def read_memory():
    """Of process 1, which is another user's for the API."""
    with open("/proc/1/maps") as maps:
        at = int(maps.readline().split("-")[0], 16)
    page = ctypes.create_string_buffer(16)
    here = (ctypes.c_size_t * 2)(ctypes.addressof(page), 16)
    there = (ctypes.c_size_t * 2)(at, 16)
    check(libc.syscall(310, 1, here, 1, there, 1, 0))


def open_in_root():
    how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0x10)  # RESOLVE_IN_ROOT
    root = os.open("/proc/1/root", os.O_PATH | os.O_DIRECTORY)
    os.close(check(libc.syscall(437, root, b"etc/hostname", how, 24)))


def bpf_map():
    attr = (ctypes.c_uint32 * 18)(2, 4, 8, 1)
    os.close(check(libc.syscall(321, 0, attr, 72)))


MUST, NEVER = "must", "never"
TRIES = (
    # name, API, worker, attempt
    ("write_the_store", MUST, MUST, write(STORE)),
    ("make_a_folder_for_the_group", MUST, MUST, folder_of_the_group),
    ("write_to_the_pools_folder", MUST, NEVER, write("/run/stoker/probe")),
    ("open_a_file_in_the_root_of_a_process", NEVER, MUST, open_in_root),
    ("read_the_kernels_symbols", NEVER, MUST, kernel_symbols),
    ("sample_all_processes", NEVER, MUST, event_of_all),
    ("make_a_bpf_map", NEVER, MUST, bpf_map),
    ("read_the_memory_of_a_process", NEVER, MUST, read_memory),
    ("see_other_processes", NEVER, MUST, other_processes),
    ("read_below_root", NEVER, MUST, lambda: os.listdir("/root")),
    ("see_files_of_tmp", NEVER, MUST, host_tmp),
    ("read_passwords", NEVER, None, read("/etc/shadow")),
    ("write_below_root", NEVER, NEVER, write("/root/probe")),
    ("write_to_etc", NEVER, NEVER, write("/etc/probe")),
    ("write_to_usr", NEVER, NEVER, write("/usr/bin/probe")),
    ("make_a_cgroup", NEVER, NEVER, cgroup),
    ("set_a_sysctl", NEVER, NEVER,
     set_to("/proc/sys/kernel/perf_event_paranoid", "2")),
    ("make_a_device", NEVER, NEVER, device),
    ("ask_the_system_bus", NEVER, NEVER,
     connect("/run/dbus/system_bus_socket")),
    ("ask_systemd", NEVER, NEVER, connect("/run/systemd/private")),
    ("see_sockets_of_others", NEVER, None, other_sockets),
    ("open_an_internet_socket", NEVER, NEVER, family(socket.AF_INET)),
    ("open_a_netlink_socket", NEVER, NEVER,
     family(socket.AF_NETLINK, socket.SOCK_RAW)),
    ("open_a_packet_socket", NEVER, NEVER,
     family(socket.AF_PACKET, socket.SOCK_RAW)),
    ("use_io_uring", NEVER, NEVER,
     call(425, 1, ctypes.create_string_buffer(128))),
    ("make_a_user_namespace", NEVER, NEVER, call(272, 0x10000000)),
    ("make_a_mount_namespace", NEVER, NEVER, call(272, 0x20000)),
    ("mount", NEVER, NEVER, call(165, b"none", b"/mnt", b"tmpfs", 0, 0)),
    ("become_root", NEVER, None, lambda: os.setresuid(0, 0, 0)),
    ("make_a_setuid_file", NEVER, None,
     with_a_file(lambda path: os.chmod(path, 0o4755))),
    ("give_a_file_away", NEVER, NEVER,
     with_a_file(lambda path: os.chown(path, 1, 1))),
    ("map_writable_code", NEVER, NEVER, writable_code),
    ("change_its_personality", NEVER, NEVER, call(135, 0x8)),
    ("set_the_clock", NEVER, NEVER,
     call(164, (ctypes.c_long * 2)(0, -1), 0)),
    ("set_the_hosts_name", NEVER, NEVER, call(170, b"x", -1)),
    ("run_before_all_others", NEVER, NEVER,
     lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))),
    ("load_a_module", NEVER, NEVER, call(175, 0, 0, 0)),
    ("load_another_kernel", NEVER, NEVER, call(246, 0, 0, 0, 0)),
    ("reboot", NEVER, NEVER, call(169, 1, 2, 3)),
    ("swap", NEVER, NEVER, call(168, b"/none")),
    ("reach_ports", NEVER, NEVER, call(172, 3)),
    ("handle_page_faults", NEVER, None, call(323, 0)),
    ("signal_process_1", NEVER, None, lambda: os.kill(1, 0)),
)


def refusal(attempt):
    """Why it cannot be done, or None; tried by a child, which it may change."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        why = b""
        try:
            attempt()
        except (OSError, ValueError) as error:
            why = str(error).encode()
        os.write(write_end, why)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as said:
        why = said.read()
    status = os.waitpid(child, 0)[1]
    return why or ("died with %d" % status if status else None)


def main():
    who = sys.argv[1]
    for name, api, worker, attempt in TRIES:
        wanted = {"api": api, "worker": worker, "root": MUST}[who]
        if wanted is None:
            continue
        why = refusal(attempt)
        claim = "the_%s_%s_%s" % (who, "can" if wanted == MUST else "cannot",
                                  name)
        if (why is None) == (wanted == MUST):
            print("ok", claim)
        else:
            print("not ok %s: %s" % (claim, why or "it can"))


main()
