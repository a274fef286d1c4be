import { headerProblem, rawHeader, pairs, type HeadersLike } from './header.js';
import { hostText, type RawFailure, type RawThrown } from './host.js';
import { reason } from './http-status.js';
import { jsonText } from './json.js';
import { log } from './log.js';
import { isEngineFailure, isInstance } from './report.js';
import { placeOf } from './stack.js';

/** The body of an error: `message`, and any further fields. */
export interface ErrorBody {
  message?: string;
  [field: string]: unknown;
}

/** What an error has beside its status and body. */
export interface ErrorOptions {
  /** On which the caller of a listener can match; `failed` without one. */
  code?: string;
  headers?: HeadersLike;
  cause?: unknown;
}

const BAD_PAYLOAD = 'bad-payload';
const GENERAL = 'the server could not answer the request';

/**
 * An error that ends the request: the client gets its status and headers, and a JSON object with `message` and the further fields
 * of its body. A listener that throws it fails its caller.
 *
 * Any other error that leaves a handler is an {@link UncaughtException}: the client gets 500 without the message, which is in the log.
 */
export class HttpException extends Error {
  readonly #status: number;
  readonly #body: ErrorBody;
  readonly #headers: [string, string][];
  readonly #problem: string | undefined;
  readonly code: string;

  /** The arguments are those of NestJS. With a status other than 400 to 599 it is the error 500 `invalid-reply`, with the place in the log. */
  constructor(response: string | ErrorBody, status: number, options: ErrorOptions = {}) {
    const fallback = reason(status);
    const message = typeof response === 'string' ? response : (response.message ?? fallback);
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    // The bundler gives a class that mentions itself another name.
    this.name = new.target === HttpException ? 'HttpException' : new.target.name;
    this.#status = isError(status) ? status : 500;
    if (!isError(status)) this.#problem = `the status of \`${this.name}: ${message}\` is ${status}, expected 400 to 599`;
    this.#body = typeof response === 'string' ? { message } : { ...response, message };
    this.#headers = pairs(options.headers ?? {});
    this.code = options.code ?? 'failed';
  }

  getStatus(): number {
    return this.#status;
  }

  /** The body that a client gets, as long as the error is not hidden. */
  getResponse(): ErrorBody {
    return this.#body;
  }

  get headers(): readonly (readonly [string, string])[] {
    return this.#headers;
  }

  /** Adds a header to the reply; earlier ones of the same name stay. */
  header(name: string, value: string): this {
    this.#headers.push([name, value]);
    return this;
  }

  /** What the log has instead, if the client must not learn the message. */
  protected hidden(): string | undefined {
    return undefined;
  }

  /** The error for the client: hidden errors are logged. */
  forClient(): HttpException {
    const wrong = this.wrong();
    if (wrong) return wrong.forClient();
    const told = this.hidden();
    if (told === undefined) return this;
    if (told !== '') log.error(told);
    return general(this.#status, { headers: this.#headers, code: this.code });
  }

  /** The error that it is instead, because of its status or a header. */
  wrong(): HttpException | undefined {
    if (this.#problem !== undefined) return new ReplyException(this.#problem, this);
    for (const [name, value] of this.#headers) {
      const problem = headerProblem(name, value);
      if (problem !== undefined) return new ReplyException(problem, this);
    }
    return undefined;
  }
}

/** A call of an event, or a function of the context, that failed. With a status of 500 or more, the client does not get its message. */
export class CallException extends HttpException {
  /** The event or function that failed. */
  readonly called: string;

  constructor(called: string, failure: RawFailure) {
    super({ ...details(failure), message: failure.message }, isError(failure.status) ? failure.status : 500, { code: failure.code });
    this.called = called;
    for (const { name, value } of failure.headers) this.header(name, String.fromCharCode(...value));
  }

  protected override hidden(): string | undefined {
    if (this.getStatus() < 500) return undefined;
    // The host logs an overload. A client that leaves before the end of its reply causes no line.
    if (this.code === 'overloaded' || (this.code === 'gone' && ['openReply', 'write', 'finish'].includes(this.called))) return '';
    return `\`${this.called}\` failed with \`${this.code}\`: ${this.message}`;
  }
}

/** A reply that is not valid HTTP, a fault of the module: 500 `invalid-reply`, with the place in the log. */
export class ReplyException extends HttpException {
  constructor(problem: string, made: Error) {
    const place = placeOf(made);
    super(place === '' ? problem : `${problem}; it is made${place}`, 500, { code: 'invalid-reply' });
  }

  protected override hidden(): string {
    return `the reply is not valid: ${this.message}`;
  }
}

/** A fault of the module's configuration. The client gets a general sentence. */
export class VariableException extends HttpException {
  constructor(message: string) {
    super(message, 500, { code: 'invalid-variable' });
  }

  protected override hidden(): string {
    return this.message;
  }
}

// Not in the class: the bundler gives another name to a class that names itself.
function general(status: number, options: ErrorOptions): HttpException {
  return new HttpException(GENERAL, status, options);
}

function isError(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status <= 599;
}

function details(failure: RawFailure): ErrorBody {
  if (failure.details === null) return {};
  try {
    return JSON.parse(failure.details) as ErrorBody;
  } catch {
    return {};
  }
}

export function thrown(error: HttpException): RawThrown {
  const shown = error.forClient();
  const { message = '', ...fields } = shown.getResponse();
  return {
    status: shown.getStatus(),
    headers: shown.headers.map(([name, value]) => rawHeader(name, value)),
    message: message.toWellFormed(),
    details: Object.keys(fields).length === 0 ? null : jsonText(fields, `the body of ${error.name}`),
  };
}

/** The failure for the caller of a listener. It has everything, since the caller decides what its client learns. */
export function failure(error: HttpException): RawFailure {
  const { message = '', ...fields } = error.getResponse();
  return {
    code: hostText(error.code, `the code of \`${error.name}\``),
    status: error.getStatus(),
    headers: error.headers.map(([name, value]) => rawHeader(name, value)),
    message: message.toWellFormed(),
    details: Object.keys(fields).length === 0 ? null : jsonText(fields, `the body of ${error.name}`),
  };
}

/** The error of a function of the host. */
export function callFailed(error: unknown, called: string): unknown {
  const payload = (error as { payload?: unknown } | null)?.payload;
  if (typeof payload === 'object' && payload !== null && 'code' in payload) return new CallException(called, payload as RawFailure);
  return error;
}

/** The failure of a call whose result is no JSON. */
export function badResult(problem: string, event: string): CallException {
  return new CallException(event, { code: BAD_PAYLOAD, status: 500, headers: [], message: `the result of \`${event}\`: ${problem}`, details: null });
}

/** The failure of a listener whose payload is no JSON. */
export function badPayload(problem: string): HttpException {
  return new HttpException(`payload: ${problem}`, 400, { code: BAD_PAYLOAD });
}

/** A class for one status. */
function exception(status: number): new (response?: string | ErrorBody, options?: ErrorOptions) => HttpException {
  return class extends HttpException {
    constructor(response: string | ErrorBody = reason(status), options: ErrorOptions = {}) {
      super(response, status, options);
    }
  };
}

export class BadRequestException extends /* @__PURE__ */ exception(400) {}
export class UnauthorizedException extends /* @__PURE__ */ exception(401) {}
export class PaymentRequiredException extends /* @__PURE__ */ exception(402) {}
export class ForbiddenException extends /* @__PURE__ */ exception(403) {}
export class NotFoundException extends /* @__PURE__ */ exception(404) {}
export class MethodNotAllowedException extends /* @__PURE__ */ exception(405) {}
export class NotAcceptableException extends /* @__PURE__ */ exception(406) {}
export class RequestTimeoutException extends /* @__PURE__ */ exception(408) {}
export class ConflictException extends /* @__PURE__ */ exception(409) {}
export class GoneException extends /* @__PURE__ */ exception(410) {}
export class LengthRequiredException extends /* @__PURE__ */ exception(411) {}
export class PreconditionFailedException extends /* @__PURE__ */ exception(412) {}
export class PayloadTooLargeException extends /* @__PURE__ */ exception(413) {}
export class UriTooLongException extends /* @__PURE__ */ exception(414) {}
export class UnsupportedMediaTypeException extends /* @__PURE__ */ exception(415) {}
export class RangeNotSatisfiableException extends /* @__PURE__ */ exception(416) {}
export class ExpectationFailedException extends /* @__PURE__ */ exception(417) {}
export class ImATeapotException extends /* @__PURE__ */ exception(418) {}
export class MisdirectedException extends /* @__PURE__ */ exception(421) {}
export class UnprocessableEntityException extends /* @__PURE__ */ exception(422) {}
export class LockedException extends /* @__PURE__ */ exception(423) {}
export class FailedDependencyException extends /* @__PURE__ */ exception(424) {}
export class UpgradeRequiredException extends /* @__PURE__ */ exception(426) {}
export class PreconditionRequiredException extends /* @__PURE__ */ exception(428) {}
export class TooManyRequestsException extends /* @__PURE__ */ exception(429) {}
export class UnavailableForLegalReasonsException extends /* @__PURE__ */ exception(451) {}
export class InternalServerErrorException extends /* @__PURE__ */ exception(500) {}
export class NotImplementedException extends /* @__PURE__ */ exception(501) {}
export class BadGatewayException extends /* @__PURE__ */ exception(502) {}
export class ServiceUnavailableException extends /* @__PURE__ */ exception(503) {}
export class GatewayTimeoutException extends /* @__PURE__ */ exception(504) {}
export class HttpVersionNotSupportedException extends /* @__PURE__ */ exception(505) {}
export class InsufficientStorageException extends /* @__PURE__ */ exception(507) {}
export class LoopDetectedException extends /* @__PURE__ */ exception(508) {}

/**
 * An exception that no code of the module caught, as interceptors and `errors` see it: 500 without details. `cause` is the thrown value.
 * The log has its message and stack, unless an interceptor makes another reply.
 */
export class UncaughtException extends InternalServerErrorException {
  constructor(cause: unknown) {
    super('internal error', { cause });
  }
}

/** An exception that ends a call. An error of the engine's memory or stack is thrown: it traps the instance. */
export function uncaught(error: unknown): UncaughtException {
  if (isEngineFailure(error)) throw error;
  return isInstance(error, UncaughtException) ? error : new UncaughtException(error);
}

/** Codes of the host for a mistake between a module and a channel. */
const MISTAKES = ['unknown-event', 'ambiguous-event', BAD_PAYLOAD, 'already-replied', 'invalid-reply', 'not-durable', 'not-remote'];

/**
 * Whether a failed call is a mistake of the module that called. A client that leaves, or sends a wrong body, makes functions of the context fail, which
 * is no mistake of the module. The name of an event contains `:`, and the name of such a function has none.
 */
function isMistake(error: HttpException): boolean {
  if (!(error instanceof CallException) || !MISTAKES.includes(error.code)) return false;
  return error.called.includes(':') || error.getStatus() >= 500;
}

/** The error of a request or an event for a thrown value. A call that failed by a mistake of the module is an exception of the module. */
export function httpOf(error: unknown): HttpException {
  return isInstance(error, HttpException) && !isEngineFailure(error) && !isMistake(error) ? error : uncaught(error);
}
