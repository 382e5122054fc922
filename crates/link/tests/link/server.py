"""A scripted MCP server on standard input and output. MODE selects the era; the tool name selects the behavior."""
import json, os, socket, subprocess, sys, time

mode = os.environ.get("MODE", "handshake")
sys.dont_write_bytecode = True
held, cancelled, seen, asking = [], [], [], {}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    result = {"content": [{"type": "text", "text": words}], **more}
    if mode == "stateless":
        result["resultType"] = "complete"
    return result


def attempt(action):
    try:
        return text("done: " + str(action()))
    except Exception as error:
        return text("refused: " + type(error).__name__)


def write(path):
    with open(path, "w") as file:
        return file.write("x")


def connect(port):
    socket.create_connection(("127.0.0.1", port), 2).close()
    return "connected"


def raw(id, result):
    sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (id, result))
    sys.stdout.flush()


def call(id, params):
    name, arguments = params["name"], params.get("arguments") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    if "LOG" in os.environ:
        with open(os.environ["LOG"], "a") as log:
            log.write(name + "\n")
    if name == "pids":
        return text("ok", structuredContent={"server": os.getpid(), "supervisor": os.getppid()})
    if name == "echo":
        return text("ok", structuredContent=arguments)
    if name == "seen":
        return text("ok", structuredContent={"requests": seen})
    if name == "environ":
        return text("ok", structuredContent={"environ": dict(os.environ), "argv": sys.argv[1:], "cwd": os.getcwd()})
    if name == "cancelled":
        return text("ok", structuredContent={"ids": cancelled})
    if name == "twice":
        send({"id": id, "result": text("first")})
        return text("second")
    if name == "foreign":
        send({"id": 987654, "result": text("foreign")})
        send({"id": "who", "result": text("foreign")})
        return text("own")
    if name == "garbage":
        for line in ["npm notice", "{", '{"level":"info"}', "[1]", '{"id":%d,"result":{"content":[]}}' % id, "\x00\xff"]:
            sys.stdout.write(line + "\n")
        return text("after garbage")
    if name == "stderr":
        for _ in range(100):
            sys.stderr.write("x" * 50_000 + "\n")
        sys.stderr.write("\x1b[31mlast words\n")
        return text("after the flood")
    if name == "big":
        words = "x" * 20_000_000
        if arguments.get("last"):
            sys.stdout.write(json.dumps({"result": text(words), "jsonrpc": "2.0", "id": id}) + "\n")
            sys.stdout.flush()
            return None
        return text(words)
    if name == "deep":
        return raw(id, '{"content":[],"structuredContent":' + "[" * 100 + "]" * 100 + "}")
    if name == "raw":
        return raw(id, arguments["result"])
    if name == "fail":
        send({"id": id, "error": {"code": -32602, "message": "no \x1b[1m" + os.environ.get("TOKEN", "")}})
        return None
    if name == "hang":
        return None
    if name == "hold":
        held.append((id, arguments))
        return None
    if name == "release":
        for waiting, given in reversed(held):
            send({"id": waiting, "result": text("ok", structuredContent=given)})
        return text("released %d" % len(held))
    if name == "die":
        sys.stderr.write("fatal: \x1b[31mout of luck " + os.environ.get("TOKEN", "") + "\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "progress":
        for step in (1, 2):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 2, "message": "step %d" % step}})
        return text("ok")
    if name == "elicit":
        asking["q%d" % id] = id
        send({"id": "q%d" % id, "method": arguments.get("method", "elicitation/create"),
              "params": {**arguments.get("more", {}), "message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}})
        return None
    if name == "flood":
        for number in range(arguments["times"]):
            send({"id": "q" if arguments["same"] else number, "method": "elicitation/create", "params": {}})
        return text("ok")
    if name == "clog":
        send({"id": "x" * 100_000, "method": "ping"})
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        time.sleep(1000)
    if name == "ask":
        if params.get("requestState") == "state":
            return text("ok", structuredContent={"answers": params["inputResponses"]})
        return {"resultType": "input_required", "requestState": "state",
                "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": "sure?"}}}}
    if name == "change":
        send({"method": "notifications/tools/list_changed"})
        return text("ok")
    if name == "spawn":
        loose = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        orphan = subprocess.Popen(["sh", "-c", "sleep 1001 & echo $!"], stdout=subprocess.PIPE)
        line = int(orphan.stdout.readline())
        return text("ok", structuredContent={"pids": [os.getpid(), os.getppid(), loose.pid, line]})
    if name == "list":
        return attempt(lambda: " ".join(sorted(os.listdir(arguments["path"]))))
    if name == "read":
        return attempt(lambda: len(open(arguments["path"]).read()))
    if name == "write":
        return attempt(lambda: write(arguments["path"]))
    if name == "connect":
        return attempt(lambda: connect(arguments["port"]))
    if name == "probe":
        import probes
        return text(probes.run(arguments["name"], arguments["with"]))
    if name == "kill":
        return attempt(lambda: os.kill(arguments["pid"], 0))
    return text("unknown tool", isError=True)


def tools(params):
    cursor = params.get("cursor")
    kind = os.environ.get("PAGES")
    if kind == "circle":
        return {"tools": [{"name": "a"}], "nextCursor": "again"}
    if kind == "endless":
        return {"tools": [{"name": "a"}], "nextCursor": str(int(cursor or 0) + 1)}
    if kind == "many":
        return {"tools": [{"name": "t%d" % n} for n in range(10_001)]}
    if cursor is None:
        return {"tools": [{"name": "echo", "zeta": 1, "alpha": 2}], "nextCursor": "two"}
    return {"tools": [{"name": "hang"}]}


for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    seen.append(message)
    if method is None:
        if id in asking:
            send({"id": asking.pop(id), "result": text("ok", structuredContent={
                key: message[key] for key in ("result", "error") if key in message})})
    elif method == "notifications/cancelled":
        cancelled.append(params["requestId"])
    elif id is None:
        pass
    elif method == "server/discover":
        if mode == "stateless":
            send({"id": id, "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
                "capabilities": {"tools": {"listChanged": True}},
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "2"}}}})
        elif mode == "dies-at-first":
            sys.exit(1)
        elif mode != "silent":
            send({"id": id, "error": {"code": -32601, "message": "Method not found"}})
    elif method == "initialize" and mode != "stateless":
        version = os.environ.get("VERSION", "2025-11-25")
        offered = {} if os.environ.get("PAGES") == "none" else {"tools": {"listChanged": True}}
        send({"id": id, "result": {"protocolVersion": version, "capabilities": offered,
                                   "serverInfo": {"name": "scripted\u202e", "version": "1"}}})
    elif method == "tools/list" and os.environ.get("PAGES") == "none":
        send({"id": id, "error": {"code": -32601, "message": "Method not found"}})
    elif method == "tools/list":
        send({"id": id, "result": tools(params)})
    elif method == "tools/call":
        result = call(id, params)
        if result is not None:
            send({"id": id, "result": result})
    elif method == "subscriptions/listen":
        pass
    else:
        send({"id": id, "error": {"code": -32601, "message": "Method not found"}})
