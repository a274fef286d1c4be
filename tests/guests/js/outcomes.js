// The variants of `outcome` in pointwork:module/types, and conversions for handlers.
//
// The engine has the language only: no TextEncoder, no console, no URL.

/** A reply of plain text. */
export const text = (value, status = 200, headers = []) => reply(status, headers, { tag: "text", val: value });

/** A reply of JSON. */
export const json = (value, status = 200) => reply(status, [], { tag: "json", val: JSON.stringify(value) });

/** Ends the request with an error. */
export const thrown = (status, message, details, headers = []) => ({
  tag: "thrown",
  val: { status, headers, message, details: details && JSON.stringify(details) },
});

/** Leaves the reply to whoever sends it. */
export const deferred = () => ({ tag: "deferred" });

/** The reply that `context.send` takes. */
export const sendable = (value, status = 200) => ({ status, headers: [], body: { tag: "text", val: value } });

/** An event payload in JSON. */
export const payload = (value) => ({ tag: "json", val: JSON.stringify(value) });

/** The value of an event payload in JSON. */
export const value = ({ val }) => JSON.parse(val);

/** The `failure` of a refused call: the bindings throw an error that carries it. Any other error goes on its way. */
export const failureOf = (error) => {
  if (error.payload?.code === undefined) throw error;
  return error.payload;
};

/** An exception as the host takes it. A frame of the engine is `    at name (file:line:column)`. */
export const crash = (error) => {
  const frames = [...String(error.stack).matchAll(/^ *at (\S+) \((.*?):(\d+)(?::\d+)?\)$/gm)];
  const stack = frames.map(([, name, file, line]) => ({ function: name, file, line: Number(line) }));
  return { message: String(error.message), exception: error.name, stack };
};

/** Text to UTF-8. */
export const bytes = (text) => {
  const escaped = encodeURIComponent(text);
  const out = [];
  for (let at = 0; at < escaped.length; at += 1) {
    if (escaped[at] === "%") {
      out.push(parseInt(escaped.slice(at + 1, at + 3), 16));
      at += 2;
    } else {
      out.push(escaped.charCodeAt(at));
    }
  }
  return new Uint8Array(out);
};

function reply(status, headers, body) {
  return { tag: "reply", val: { status, headers, body } };
}
