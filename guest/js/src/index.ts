/** The SDK of Pointwork for controllers and channels in TypeScript and JavaScript. */

export { BodyWriter } from './body.js';
export { Conditions, type Validators } from './conditions.js';
export { Context } from './context.js';
export { CookieKey, Cookies, type SetCookie } from './cookies.js';
export {
  Acl,
  All,
  Channel,
  Connect,
  Controller,
  Copy,
  Delete,
  Get,
  Head,
  Header,
  HttpCode,
  Lock,
  Mkcol,
  Move,
  On,
  Options,
  Patch,
  Post,
  Propfind,
  Proppatch,
  Purge,
  Put,
  Report,
  RequestMapping,
  Search,
  SkipGuards,
  Trace,
  Unlock,
  UseGuards,
  UseInterceptors,
  type BodyMode,
  type ClassOptions,
  type Paths,
  type RouteOptions,
} from './decorators.js';
export { Delivery } from './delivery.js';
export type { AnyEvents, EventName, IOEvent, IOEventName, PayloadOf, ResultOf } from './events.js';
export {
  BadGatewayException,
  BadRequestException,
  CallException,
  ConflictException,
  ExpectationFailedException,
  FailedDependencyException,
  ForbiddenException,
  GatewayTimeoutException,
  GoneException,
  HttpException,
  HttpVersionNotSupportedException,
  ImATeapotException,
  InsufficientStorageException,
  InternalServerErrorException,
  LengthRequiredException,
  LockedException,
  LoopDetectedException,
  MethodNotAllowedException,
  MisdirectedException,
  NotAcceptableException,
  NotFoundException,
  NotImplementedException,
  PayloadTooLargeException,
  PaymentRequiredException,
  PreconditionFailedException,
  PreconditionRequiredException,
  RangeNotSatisfiableException,
  ReplyException,
  RequestTimeoutException,
  ServiceUnavailableException,
  TooManyRequestsException,
  UncaughtException,
  UnauthorizedException,
  UnavailableForLegalReasonsException,
  UnprocessableEntityException,
  UnsupportedMediaTypeException,
  UpgradeRequiredException,
  UriTooLongException,
  VariableException,
  type ErrorBody,
  type ErrorOptions,
} from './exceptions.js';
export type { CanActivate, Guard, GuardResult, GuardValue, Interceptor } from './guards.js';
export { HttpStatus, RequestMethod } from './http-status.js';
export { inject, type Provider, type Token } from './inject.js';
export { log, type LogFields } from './log.js';
export { module, type Module, type ModuleOptions } from './module.js';
export { Part } from './multipart.js';
export { Payload } from './payload.js';
export { DEFERRED, Reply, type Piece, type Pieces, type ReplyInit } from './reply.js';
export { sse, type SseEvent } from './sse.js';
export { typed } from './typed.js';
export { bool, float, int, uuid, ValidationException, type InvalidField, type Pipe, type StandardSchema } from './validation.js';
export { fromTypeBox } from './typebox.js';
export { env, variables, type Variable, type Variables } from './variables.js';
