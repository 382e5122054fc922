// `node --import …/loopback.mjs SERVER` makes a server listen on the loopback interface only and prints its URL to stderr.
//
// Some servers listen on every interface and have no option to change that. Also used by `cargo xtask bench gateway`.

import { Server } from "node:net";

const listen = Server.prototype.listen;

Server.prototype.listen = function (port, ...rest) {
  if (typeof port !== "number" && typeof port !== "string") throw new TypeError("unsupported arguments of listen: the first must be a port");
  const ready = rest.find((argument) => typeof argument === "function");
  this.once("listening", () => console.error(`http://127.0.0.1:${this.address().port}/mcp`));
  return listen.call(this, Number(port), "127.0.0.1", ready);
};
