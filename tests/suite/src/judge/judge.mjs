// Reads recorded replies with the HTTP client of Node.js, whose parser (llhttp) is strict by default.
//
// Each line of the standard input is `{"method", "bytes"}`, the bytes of one reply in base64, up to the next reply or
// the end of the connection. Each line of the standard output is `{"status", "headers", "body"}` or `{"error"}`.

import http from "node:http";
import { createInterface } from "node:readline";
import { Duplex } from "node:stream";

/** A connection whose other end sends what was recorded, and closes. */
class Recorded extends Duplex {
  #bytes;

  constructor(bytes) {
    super();
    this.#bytes = bytes;
  }

  _write(_request, _encoding, done) {
    done();
    if (this.#bytes) {
      this.push(this.#bytes);
      this.push(null);
      this.#bytes = null;
    }
  }

  _read() {}
  setTimeout() {}
  setNoDelay() {}
  setKeepAlive() {}
  ref() {}
  unref() {}
}

const whole = (reply, body) => ({
  status: reply.statusCode,
  headers: reply.rawHeaders,
  body: body.toString("base64"),
});

function judge({ method, bytes }) {
  return new Promise((resolve) => {
    const refuse = (error) => resolve({ error: error.message });
    const path = method === "CONNECT" ? "host:80" : "/";
    const createConnection = () => new Recorded(Buffer.from(bytes, "base64"));
    const request = http.request({ method, path, createConnection });
    request.on("error", refuse);
    request.on("connect", (reply, _connection, rest) => {
      resolve(rest.length > 0 ? { error: `${rest.length} bytes behind a reply to CONNECT` } : whole(reply, rest));
    });
    request.on("response", (reply) => {
      const chunks = [];
      reply.on("data", (chunk) => chunks.push(chunk));
      reply.on("error", refuse);
      // The parser reports bytes after the end of the reply within this turn of the event loop.
      reply.on("end", () => setImmediate(() => resolve(whole(reply, Buffer.concat(chunks)))));
    });
    request.end();
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await judge(JSON.parse(line)))}\n`);
}
