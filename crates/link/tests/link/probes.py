"""Probes of a sandbox: each tries one thing a server should not be able to do, and says what happened."""
import ctypes, errno, fcntl, mmap, os, resource, signal, socket, struct, subprocess, sys, time

libc = ctypes.CDLL(None, use_errno=True)
# The future call is `listxattrat` of Linux 6.13, which stands for calls that are newer than the filter.
NUMBERS = {"x86_64": {"ptrace": 101, "process_vm_readv": 310, "unshare": 272, "mount": 165, "io_uring_setup": 425, "bpf": 321,
                      "keyctl": 250, "userfaultfd": 323, "perf_event_open": 298, "setns": 308, "chroot": 161,
                      "open_by_handle_at": 304, "clone": 56, "clone3": 435, "openat2": 437, "fchmodat2": 452, "chmod": 90,
                      "kexec_load": 246, "init_module": 175, "pidfd_getfd": 438, "future": 465, "x32": 0x40000000 + 39},
           "aarch64": {"ptrace": 117, "process_vm_readv": 270, "unshare": 97, "mount": 40, "io_uring_setup": 425, "bpf": 280,
                       "keyctl": 219, "userfaultfd": 282, "perf_event_open": 241, "setns": 268, "chroot": 51,
                       "open_by_handle_at": 265, "clone": 220, "clone3": 435, "openat2": 437, "fchmodat2": 452,
                       "kexec_load": 104, "init_module": 105, "pidfd_getfd": 438, "future": 465, "x32": 9998}}[os.uname().machine]


def syscall(name, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(NUMBERS[name], *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def stream(family, protocol, address):
    with socket.socket(family, socket.SOCK_STREAM, protocol) as sock:
        sock.settimeout(2)
        sock.connect(address)
        return "connected"


def udp(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(2)
        # A connected socket gets the error of a closed port.
        sock.connect(address)
        sock.send(b"x")
        return "answered" if sock.recv(9) else "silent"


def fast_open(address):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        # Python gives up at once where it has a time limit.
        sock.sendto(b"x", 0x20000000, address)
        return "sent"


def datagram_pair(path):
    """A pair needs no name, but a datagram socket of it could send to one."""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", path)
    return "sent"


def stream_pair(path):
    one, other = socket.socketpair()
    other.close()
    one.connect(path)
    return "connected"


def own_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname(), 2):
            return "connected"


def interfaces():
    return " ".join(name for _, name in socket.if_nameindex())


def processes():
    return "%d others" % len([name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())])


def init_secrets(name):
    with open("/proc/1/" + name, "rb") as file:
        return "read %d" % len(file.read(10))


def kill_init():
    """Newer kernels refuse it, older ones ignore it."""
    try:
        os.kill(1, signal.SIGKILL)
    except PermissionError:
        pass
    return "init runs" if os.path.exists("/proc/1/status") else "init is gone"


def descriptors():
    return " ".join(sorted(name for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)))


def privileges():
    status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
    capabilities = sum(int(status[key], 16) for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
    return "capabilities %d, no_new_privs %s" % (capabilities, status["NoNewPrivs"].strip())


def set_user_id():
    """`passwd` has the set-user-ID bit; with it `id` would say 0."""
    return subprocess.run(["sh", "-c", "id -u; su -c 'id -u' root </dev/null"], capture_output=True, text=True).stdout.strip()


def leave_set_user_id(path):
    with open(path, "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod(path, 0o4755)
    return oct(os.stat(path).st_mode)


def create_set_user_id(path):
    os.umask(0)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o6755))
    return oct(os.stat(path).st_mode)


def allocate(megabytes):
    block = mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return "%d MB" % (len(block) >> 20)


def open_files(limit):
    held = []
    try:
        while len(held) < limit:
            held.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for one in held:
            os.close(one)
    return "%d" % len(held)


def fork_many(limit):
    children, failure = [], None
    try:
        while len(children) < limit:
            pid = os.fork()
            if pid == 0:
                signal.pause()
            children.append(pid)
    except OSError as error:
        failure = error
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if failure:
        raise failure
    return "%d" % len(children)


def burn():
    pid = os.fork()
    if pid == 0:
        while True:
            pass
    _, status = os.waitpid(pid, 0)
    return "killed by %d" % os.WTERMSIG(status)


def fill(path, megabytes):
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(b"x" * (1 << 20))
    os.unlink(path)
    return "%d MB" % megabytes


def escape():
    """Starts a daemon by double fork and setsid. Returns its id in the namespace."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.write(write, b"%d" % os.getpid())
            os.close(0), os.close(1), os.close(2)
            while True:
                time.sleep(1000)
        os._exit(0)
    os.wait()
    return os.read(read, 20).decode()


def hold_input():
    """Opens the writing end of its own standard input, which then never ends, and keeps it."""
    held = os.open("/proc/self/fd/0", os.O_WRONLY)
    return "held" if held > 2 else "not held"


def call_with_32_bits():
    """`getpid` by the instruction of 32-bit programs, whose numbers a filter for 64-bit ones would not understand."""
    if os.uname().machine != "x86_64":
        return "none"
    pid = os.fork()
    if pid == 0:
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20; int 0x80; ret
        call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        os._exit(3 if call() == os.getpid() else 4)
    _, status = os.waitpid(pid, 0)
    return "done" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 3 else "none"


def lease(path):
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    finally:
        os.close(file)


def clone_namespace():
    pid = syscall("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "cloned"


def create_file(path):
    with open(path, "w") as file:
        file.write("x")
    os.chmod(path, 0o600)
    os.utime(path, (1, 1))
    os.rename(path, path + "2")
    os.unlink(path + "2")
    return "created"


def proxy(target, method="CONNECT"):
    host, port = os.environ["https_proxy"].removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 5) as sock:
        sock.sendall(("%s %s HTTP/1.1\r\nHost: x\r\n\r\nping" % (method, target)).encode())
        answer = b""
        while True:
            piece = sock.recv(4096)
            answer += piece
            if not piece or answer.endswith(b"pong"):
                break
    return answer.decode().replace("\r\n", "|")


def flood_proxy(count):
    """Opens connections without sending a request, and counts the refused ones."""
    host, port = os.environ["https_proxy"].removeprefix("http://").split(":")
    held = [socket.create_connection((host, int(port)), 1) for _ in range(count)]
    refused = 0
    for sock in reversed(held):
        try:
            refused += b"503" in sock.recv(20)
        except TimeoutError:
            break
    for sock in held:
        sock.close()
    return "refused %s" % ("some" if refused else "none")


PROBES = {
    "read": lambda path: "%d bytes" % len(open(path, "rb").read()),
    "list": lambda path: " ".join(sorted(os.listdir(path))),
    "write": create_file,
    "stat": lambda path: "size %d" % os.stat(path).st_size,
    "overwrite": lambda path: open(path, "w").write("x"),
    "chmod": lambda path: os.chmod(path, 0o777),
    "chown": lambda path: os.chown(path, os.getuid(), os.getgid()),
    "utime": lambda path: os.utime(path, (1, 1)),
    "setxattr": lambda path: os.setxattr(path, "user.x", b"x"),
    "unlink": lambda path: os.unlink(path),
    "rename": lambda path: os.rename(path, path + ".moved"),
    "hard link": lambda path, to: os.link(path, to),
    "symbolic link": lambda path, to: (os.symlink(path, to), "%d bytes" % len(open(to).read()))[1],
    "device": lambda path: os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3)),
    "leave set-user-ID": leave_set_user_id,
    "create set-user-ID": create_set_user_id,
    "tcp": lambda port: stream(socket.AF_INET, 0, ("127.0.0.1", port)),
    "tcp to": lambda host, port: stream(socket.AF_INET6 if ":" in host else socket.AF_INET, 0, (host, port)),
    "open pipe": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)),
    "lease": lease,
    "32-bit call": call_with_32_bits,
    "tcp6": lambda port: stream(socket.AF_INET6, 0, ("::1", port)),
    "mapped": lambda port: stream(socket.AF_INET6, 0, ("::ffff:127.0.0.1", port)),
    "mptcp": lambda port: stream(socket.AF_INET, 262, ("127.0.0.1", port)),
    "fast open": lambda port: fast_open(("127.0.0.1", port)),
    "udp": lambda port: udp(("127.0.0.1", port)),
    "udp to network": lambda: udp(("192.0.2.1", 53)),
    "unix": lambda path: stream(socket.AF_UNIX, 0, path),
    "abstract": lambda name: stream(socket.AF_UNIX, 0, "\0" + name),
    "datagram pair": datagram_pair,
    "stream pair": stream_pair,
    "own pair": lambda: (lambda pair: (pair[0].send(b"x"), pair[1].recv(1).decode())[1])(socket.socketpair()),
    "own loopback": own_loopback,
    "interfaces": interfaces,
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM).close(),
    "packet": lambda: socket.socket(17, socket.SOCK_RAW).close(),
    "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
    "sctp": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).close(),
    "bluetooth": lambda: socket.socket(31, socket.SOCK_RAW, 1).close(),
    "alg": lambda: socket.socket(38, socket.SOCK_SEQPACKET).close(),
    "netlink audit": lambda: socket.socket(16, socket.SOCK_RAW, 9).close(),
    "netlink uevent": lambda: socket.socket(16, socket.SOCK_RAW, 15).close(),
    "netlink netfilter": lambda: socket.socket(16, socket.SOCK_RAW, 12).close(),
    "ptrace": lambda: syscall("ptrace", 0, 0, 0, 0),
    "process_vm_readv": lambda: syscall("process_vm_readv", 1, 0, 0, 0, 0, 0),
    "pidfd_getfd": lambda: syscall("pidfd_getfd", 0, 0, 0),
    "unshare": lambda: syscall("unshare", 0x10000000),
    "clone namespace": clone_namespace,
    "clone3": lambda: syscall("clone3", 0, 0),
    "setns": lambda: syscall("setns", 0, 0),
    "mount": lambda: syscall("mount", b"x", b"/tmp", b"tmpfs", 0, 0),
    "chroot": lambda: syscall("chroot", b"/tmp"),
    "io_uring": lambda: syscall("io_uring_setup", 1, ctypes.create_string_buffer(200)),
    "bpf": lambda: syscall("bpf", 0, 0, 0),
    "keyctl": lambda: syscall("keyctl", 0, -3, 0),
    "userfaultfd": lambda: syscall("userfaultfd", 0),
    "perf_event_open": lambda: syscall("perf_event_open", 0, 0, -1, -1, 0),
    "open_by_handle_at": lambda: syscall("open_by_handle_at", -100, 0, 0),
    "kexec_load": lambda: syscall("kexec_load", 0, 0, 0, 0),
    "init_module": lambda: syscall("init_module", 0, 0, b""),
    "future call": lambda: syscall("future"),
    "x32 call": lambda: syscall("x32"),
    "signal": lambda pid: os.kill(pid, 0),
    "kill init": kill_init,
    "signal all": lambda: os.kill(-1, 0),
    "processes": processes,
    "init secrets": init_secrets,
    "descriptors": descriptors,
    "privileges": privileges,
    "set-user-ID programs": set_user_id,
    "identity": lambda: "%d:%d pid %s" % (os.getuid(), os.getgid(), "1" if os.getpid() == 1 else "other"),
    "allocate": allocate,
    "open files": open_files,
    "fork": fork_many,
    "burn": burn,
    "fill": fill,
    "escape": escape,
    "hold input": hold_input,
    "write proc": lambda path: open(path, "w").write("1"),
    "core limit": lambda: "%d %d" % resource.getrlimit(resource.RLIMIT_CORE),
    "proxy": proxy,
    "flood proxy": flood_proxy,
    "environ": lambda: " ".join(sorted(name for name in os.environ if "proxy" in name.lower())),
}


def run(name, arguments):
    try:
        return str(PROBES[name](*arguments) or "done")
    except OSError as error:
        return "refused: " + errno.errorcode.get(error.errno, type(error).__name__)
    except Exception as error:
        return "refused: " + type(error).__name__
