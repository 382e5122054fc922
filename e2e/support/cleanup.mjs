// What a test opened is closed in the opposite order: the client before its server, the server before its folder.
// (`t.after` alone runs in the order of registration.)

const open = new WeakMap();

export function atEnd(t, close) {
  if (!open.has(t)) {
    const stack = [];
    open.set(t, stack);
    t.after(async () => {
      while (stack.length > 0) await stack.pop()();
    });
  }
  open.get(t).push(close);
}
