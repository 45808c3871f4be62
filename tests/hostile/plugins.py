"""Plugins that do their worst, a function each, and those that it takes no argument to call."""

import re

SOURCE = r"""
import ctypes, gc, os, signal, stat, subprocess, sys, threading, time

def well(event, context): return os.getpid()

def segfault(event, context): ctypes.string_at(0)
def leaves(event, context): os._exit(0)
def kills_itself(event, context): os.kill(os.getpid(), signal.SIGKILL)
def aborts(event, context): os.abort()
def exits(event, context): sys.exit(0)
def base(event, context): raise BaseException("deep")
def interrupts(event, context): raise KeyboardInterrupt
async def cancels(event, context):
    import asyncio
    raise asyncio.CancelledError
def recurses(event, context): return recurses(event, context)
def deep_result(event, context):
    value = []
    for _ in range(100_000): value = [value]
    return value

def loops(event, context):
    print("on")
    while True: pass
def loops_by_name(event, context):
    print(os.getpid())
    while True: pass
def loops_in_c(event, context): return 7 ** (7 ** 10)
async def loops_async(event, context):
    while True: pass
async def will_not_be_cancelled(event, context):
    import asyncio
    async def stubborn():
        while True:
            try: await asyncio.sleep(60)
            except asyncio.CancelledError: pass
    asyncio.create_task(stubborn())
    await asyncio.sleep(0)
def ignores_signals(event, context):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True: time.sleep(1)
def stops_itself(event, context): os.kill(os.getpid(), signal.SIGSTOP)

HELD = []
def leaks_memory(event, context):
    while True: HELD.append(bytearray(16 * 1024 * 1024))
def leaks_slowly(event, context):
    HELD.append(b"x" * 8 * 1024 * 1024); return os.getpid()
def leaks_threads(event, context):
    for _ in range(20): threading.Thread(target=time.sleep, args=(600,)).start()
    return os.getpid()
def leaks_files(event, context):
    HELD.extend(open(os.devnull) for _ in range(150)); return os.getpid()

def closes_everything(event, context): os.closerange(0, 256)
def closes_its_output(event, context):
    os.close(1); os.close(2); sys.stdout = None
    return os.getpid()
def floods(event, context):
    while True: os.write(1, b"x" * 65536)
def floods_errors(event, context):
    while True: os.write(2, b"\n" * 65536)
def drips(event, context):
    while True: os.write(1, b"x")
def garbage(event, context):
    for name in os.listdir("/proc/self/fd"):
        try: os.write(int(name), b"\xff" * 1000)
        except OSError: pass
    return os.getpid()
def nonsense(event, context):
    for name in os.listdir("/proc/self/fd"):
        try: os.write(int(name), b"\0\0\0\2{}")
        except OSError: pass
    return os.getpid()
def forges(event, context):
    text = b'{"type":"Ended","turn":0,"kind":"done"}'
    for name in os.listdir("/proc/self/fd"):
        try: os.write(int(name), len(text).to_bytes(4, "big") + text)
        except OSError: pass
    return os.getpid()
def channel():
    return next(n for n in range(3, 256) if is_socket(n))
def is_socket(number):
    try: return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError: return False
def turn():
    place = sys._getframe()
    while "request" not in place.f_locals: place = place.f_back
    return b"%d" % place.f_locals["request"].turn
def framed(text): return len(text).to_bytes(4, "big") + text
def begins_without_end(event, context):
    many, out = framed(b'{"type":"Begun","turn":%s,"module":""}' % turn()) * 1000, channel()
    while True: os.write(out, many)
def forges_a_long_result(event, context):
    value = b"[" + b"[]," * 60_000 + b"1]"
    os.write(channel(), framed(
        b'{"type":"Ended","turn":%s,"kind":"done","value":%s}' % (turn(), value)))
    time.sleep(600)
def forges_a_frame_without_end(event, context):
    out = channel()
    os.write(out, (200_000).to_bytes(4, "big"))
    for _ in range(199_000): os.write(out, b"x")
    time.sleep(600)

def fork_returns(event, context):
    return "child" if os.fork() == 0 else "parent"
def fork_stays_and_leaves(event, context, *, pids):
    if os.fork() == 0:
        open(pids, "w").write(str(os.getpid()))
        while True: time.sleep(1)
    while not os.path.exists(pids) or not open(pids).read(): pass
    os._exit(1)
def starts_children(event, context, *, pids):
    found = [subprocess.Popen(["sleep", "600"]).pid for _ in range(5)]
    open(pids + ".new", "w").write(" ".join(map(str, found)))
    os.rename(pids + ".new", pids)
    while True: time.sleep(1)

def breaks_the_process(event, context):
    os.chdir("/"); os.environ.clear(); os.umask(0o777); gc.disable()
    sys.path.clear(); sys.setrecursionlimit(60)
    import builtins; builtins.open = None
def breaks_modules(event, context):
    for name in list(sys.modules): sys.modules.pop(name, None)
def returns_a_trap(event, context):
    class Trap(dict):
        def items(self): os._exit(9)
    return Trap(a=1)
def raises_a_trap(event, context):
    class Trap(Exception):
        def __str__(self): raise SystemExit(9)
    raise Trap
"""

UNLISTED = frozenset({"well", "leaks_slowly", "channel", "is_socket", "turn", "framed"})
"""No harm by one call, or a part of another."""
FUNCTION = re.compile(r"^(?:async )?def (\w+)\(event, context\)", re.MULTILINE)
WORST = tuple(name for name in FUNCTION.findall(SOURCE) if name not in UNLISTED)
