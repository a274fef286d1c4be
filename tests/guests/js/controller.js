// Two controllers in plain JavaScript, synchronous form (world `module`).
//
// The host calls a handler by its number, which is its index in `table`, so a route always matches its handler.
import { call, text as textOf } from "pointwork:module/context-sync@0.2.0";
import log from "pointwork:module/log@0.2.0";

import { bytes, crash, deferred, failureOf, json, payload, sendable, text, thrown, value } from "./outcomes.js";

const table = [
  {
    controller: { name: "Greetings", prefix: "js" },
    name: "hello",
    method: "GET",
    paths: ["hello/:name"],
    run: (ctx) => text(`hello ${ctx.param("name")}`),
  },
  {
    name: "echo",
    method: "POST",
    paths: ["echo"],
    run: (ctx) => {
      let received;
      try {
        received = JSON.parse(textOf(ctx));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return thrown(400, `the body is no JSON: ${error.message}`);
      }
      return json({ received });
    },
  },
  {
    name: "viaChannel",
    method: "GET",
    paths: ["call/:text"],
    run: (ctx) => {
      try {
        return json(value(call(ctx, "echo:say", payload({ text: ctx.param("text") }))));
      } catch (error) {
        const { status, code, message } = failureOf(error);
        return thrown(status, `${code}: ${message}`);
      }
    },
  },
  {
    name: "missing",
    method: "GET",
    paths: ["missing"],
    run: () => thrown(404, "no such greeting", { greeting: "missing" }, [{ name: "x-hint", value: bytes("ask again") }]),
  },
  {
    name: "header",
    method: "GET",
    paths: ["header/:name"],
    run: (ctx) => {
      const one = ctx.header(ctx.param("name"));
      const all = ctx.headers().map(({ name, value }) => [name, value.length]);
      return json({ one: one ?? null, all });
    },
  },
  {
    name: "request",
    method: null,
    paths: ["request/*rest"],
    run: (ctx) =>
      json({
        method: ctx.method(),
        path: ctx.path(),
        query: ctx.query() ?? null,
        route: ctx.route(),
        params: ctx.params(),
        scheme: ctx.scheme(),
        authority: ctx.authority() ?? null,
        version: ctx.httpVersion(),
        hasDeadline: ctx.deadline() !== undefined,
        cancelled: ctx.cancelled(),
      }),
  },
  {
    name: "sends",
    method: "GET",
    paths: ["sends"],
    run: (ctx) => {
      ctx.send(sendable("sent", 201));
      try {
        ctx.send(sendable("sent again"));
      } catch (error) {
        log.write("info", "js", "the second reply is refused", [{ name: "code", value: failureOf(error).code }]);
      }
      return deferred();
    },
  },
  {
    name: "silent",
    method: "GET",
    paths: ["silent"],
    run: () => deferred(),
  },
  {
    name: "headers",
    method: "GET",
    paths: ["with-headers"],
    run: () =>
      text("two cookies", 200, [
        { name: "set-cookie", value: bytes("a=1") },
        { name: "set-cookie", value: bytes("b=2") },
      ]),
  },
  {
    name: "breaks",
    method: "GET",
    paths: ["breaks"],
    run: () => {
      throw new Error("broken on purpose");
    },
  },
  {
    controller: { name: "Reports", prefix: "/js/reports/" },
    name: "report",
    method: "REPORT",
    paths: ["", "/latest"],
    run: (ctx) => text(`report at ${ctx.path()}`),
  },
];

export const manifest = {
  describe() {
    const controllers = [];
    table.forEach(({ controller, name, method, paths }, handler) => {
      if (controller) controllers.push({ ...controller, routes: [], metadata: [] });
      controllers.at(-1).routes.push({ handler, name, method, paths, body: "whole", metadata: [] });
    });
    return {
      name: "pointwork-js-guest",
      version: undefined,
      sdk: "by hand",
      language: "javascript",
      controllers,
      channels: [],
      eventsUsed: ["echo:say"],
      metadata: [],
    };
  },
};

export const handlers = {
  handle(handler, context) {
    try {
      return table[handler].run(context);
    } catch (error) {
      // The trap that follows carries nothing.
      log.panicked(crash(error));
      throw error;
    } finally {
      // Dropped now, not by the garbage collector: the host replies with 500 when the last holder drops the context.
      context[Symbol.dispose]();
    }
  },
};

export const listeners = {
  deliver() {
    throw new Error("the manifest lists no channel");
  },
};
