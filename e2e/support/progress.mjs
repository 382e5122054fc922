// Progress notifications as a client receives them.

/**
 * Runs a call and passes every progress notification that reaches the client's transport to a callback, in order.
 *
 * Both SDKs drop their own progress callback with the response, even for a notification that arrived before the response
 * in the same chunk. So the notifications are read from the transport.
 */
export async function withProgress(client, onProgress, call) {
  const { transport } = client;
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if (message.method === "notifications/progress") onProgress(message.params);
    return onmessage.call(transport, message, extra);
  };
  try {
    return await call();
  } finally {
    transport.onmessage = onmessage;
  }
}
