// Runs cleanups of a test in reverse order: the client before its server, the server before its folder.
// (`t.after` alone runs in the order of registration.)

const cleanups = new WeakMap();

/** Registers a function that runs after the test `t`. */
export function addCleanup(t, close) {
  if (!cleanups.has(t)) {
    const stack = [];
    cleanups.set(t, stack);
    t.after(async () => {
      while (stack.length > 0) await stack.pop()();
    });
  }
  cleanups.get(t).push(close);
}
