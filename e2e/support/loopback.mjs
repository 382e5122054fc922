// `node --import …/loopback.mjs SERVER`: whatever the program listens on, it is this machine alone, and stderr says where.
//
// Some servers listen on every interface and offer no way to say otherwise. Also run by `cargo xtask bench gateway`.

import { Server } from "node:net";

const listen = Server.prototype.listen;

Server.prototype.listen = function (port, ...rest) {
  if (typeof port !== "number" && typeof port !== "string") throw new TypeError("only a port can be listened on here");
  const ready = rest.find((argument) => typeof argument === "function");
  this.once("listening", () => console.error(`http://127.0.0.1:${this.address().port}/mcp`));
  return listen.call(this, Number(port), "127.0.0.1", ready);
};
