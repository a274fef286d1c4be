/* Pointwork embedded in a program of C.
 *
 * The rules that hold for every function:
 *
 * - Every pointer is valid or NULL; NULL where it is not allowed is an error that names the argument. Texts are UTF-8 and end in a
 *   zero byte. What a function takes by pointer it borrows for the call, unless its comment says that it takes it over.
 * - A function that returns a pw_error * returns NULL for success. Free an error with pw_error_free. With an error, the places that it
 *   got for results hold NULL or zero.
 * - Functions may be called from any thread, and from within callbacks. A pw_body belongs to one thread at a time.
 * - A callback runs on the thread that needs its answer, or with PW_RUNS_BLOCKING on one of a pool, never on the stack of a guest. A
 *   callback with PW_RUNS_INLINE must not block. It may not leave by longjmp, pthread_exit
 *   or an exception of C++, and no thread may be cancelled by pthread_cancel while it is in a function of the library.
 * - A thread needs a stack of 256 KiB, and 64 KiB more for each request that is within another one: a callback that sends a request
 *   to its own application is within one. There are at most 16.
 * - `user` goes to the callback as it is. `drop`, unless NULL, is called with it once, after the last call of the callback.
 */

#ifndef POINTWORK_H
#define POINTWORK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * The version of this header. pw_version is that of the library.
 */
#define PW_VERSION_MAJOR 0
#define PW_VERSION_MINOR 2
#define PW_VERSION_PATCH 0
#define PW_VERSION "0.2.0"


/**
 * The version of the functions and types of this header. A library of another version refuses to start.
 */
#define PW_ABI_VERSION 1

/**
 * The next part of a body.
 */
typedef enum {
  /**
   * Bytes, at least one.
   */
  PW_CHUNK_DATA = 0,
  /**
   * The end.
   */
  PW_CHUNK_END = 1,
  /**
   * The body broke off.
   */
  PW_CHUNK_BROKEN = 2,
  /**
   * Nothing is there yet; `wake` will be called.
   */
  PW_CHUNK_PENDING = 3,
} pw_chunk;

/**
 * The kind of an error.
 */
typedef enum {
  /**
   * An argument is NULL where it must not be, or invalid.
   */
  PW_ERROR_KIND_ARGUMENT = 1,
  /**
   * A component is not one, was built against another version of the contract, imports more than it is granted, or
   * does not compile.
   */
  PW_ERROR_KIND_COMPONENT = 2,
  /**
   * A declaration of a module, a route, a listener or a change is refused.
   */
  PW_ERROR_KIND_REFUSED = 3,
  /**
   * A setting is invalid.
   */
  PW_ERROR_KIND_SETTINGS = 4,
  /**
   * A file, a directory, an address or another thing of the host cannot be used.
   */
  PW_ERROR_KIND_HOST = 5,
  /**
   * The application is closed, or nobody waits for an answer any more.
   */
  PW_ERROR_KIND_CLOSED = 6,
  /**
   * The process was forked after the application was started.
   */
  PW_ERROR_KIND_FORKED = 7,
  /**
   * Requests are answered within one another without end.
   */
  PW_ERROR_KIND_NESTED = 8,
  /**
   * The engine or its threads do not start.
   */
  PW_ERROR_KIND_ENGINE = 9,
  /**
   * The header and the library are of different versions of the ABI.
   */
  PW_ERROR_KIND_ABI = 10,
  /**
   * The listener of a call failed; the message says why.
   */
  PW_ERROR_KIND_FAILED = 11,
  /**
   * A defect of the library itself.
   */
  PW_ERROR_KIND_INTERNAL = 12,
  /**
   * A time that the program set is over.
   */
  PW_ERROR_KIND_TIMED_OUT = 13,
} pw_error_kind;

/**
 * The answer to one call of a callback. It is given once, from any thread; a second one is refused with
 * PW_ERROR_KIND_REFUSED, and one that nobody waits for any more with PW_ERROR_KIND_CLOSED.
 */
typedef struct pw_answer pw_answer;

/**
 * An application with its threads.
 */
typedef struct pw_app pw_app;

/**
 * A body that the program reads.
 */
typedef struct pw_body pw_body;

/**
 * Calls and emits events.
 */
typedef struct pw_caller pw_caller;

/**
 * An error: its kind, and its text, which names its causes.
 */
typedef struct pw_error pw_error;

/**
 * An event of a channel.
 */
typedef struct pw_event pw_event;

/**
 * A request without a reply so far.
 */
typedef struct pw_in_flight pw_in_flight;

/**
 * The application within a server of the program.
 */
typedef struct pw_mount pw_mount;

/**
 * A request for the next chunk of a body.
 */
typedef struct pw_next pw_next;

/**
 * A payload: its content type and its data.
 */
typedef struct pw_payload pw_payload;

/**
 * A reply: one that the program makes, or one that it got.
 */
typedef struct pw_reply pw_reply;

/**
 * A request that waits for its reply.
 */
typedef struct pw_request pw_request;

/**
 * Builds a request for the application, exactly as the client sent it.
 */
typedef struct pw_request_builder pw_request_builder;

/**
 * A running server.
 */
typedef struct pw_server pw_server;

/**
 * A text in UTF-8 that ends in a zero byte.
 */
typedef const char *pw_text;

/**
 * Bytes that belong to somebody else.
 */
typedef struct {
  /**
   * The first byte; may be NULL if there are none.
   */
  const uint8_t *data;
  /**
   * Their number.
   */
  size_t size;
} pw_bytes;

/**
 * Is told that nobody waits for an answer or a chunk of a body any more.
 */
typedef void (*pw_gone)(void *user);

/**
 * Gets `user` after the last call of its callback.
 */
typedef void (*pw_drop)(void *user);

/**
 * The numbers of threads of an application; 0 is the default.
 */
typedef struct {
  /**
   * The threads that serve connections and finish requests: one for each processor.
   */
  size_t workers;
  /**
   * The callbacks with PW_RUNS_BLOCKING that run at a time: 64. Further calls wait.
   */
  size_t blocking;
} pw_threads;

/**
 * Gets the result of an operation: NULL for success, otherwise an error, which it has to free. It is called exactly
 * once, on any thread.
 */
typedef void (*pw_done)(void *user, pw_error *error);

/**
 * Figures of an application.
 */
typedef struct {
  /**
   * The number of registered routes.
   */
  size_t routes;
  /**
   * The number of requests without their whole reply so far.
   */
  size_t requests_in_flight;
  /**
   * The number of emitted events that nobody got, since the start: without a listener, or with a full queue.
   */
  uint64_t events_refused;
} pw_figures;

/**
 * Where a callback runs.
 */
typedef int32_t pw_runs;

/**
 * Gets an event of a channel. The event is borrowed until the callback returns. The answer is taken over: give it one
 * answer, now or later, and free it with pw_answer_free.
 */
typedef void (*pw_on_event)(void *user, pw_event *event, pw_answer *answer);

/**
 * How a route takes the bodies of its requests.
 */
typedef int32_t pw_body_mode;

/**
 * Gets a request for a route. Both are taken over: free the request with pw_request_free, give the answer a reply, now
 * or later, and free it with pw_answer_free.
 */
typedef void (*pw_on_request)(void *user, pw_request *request, pw_answer *answer);

/**
 * Says, once, that pw_body_next is worth another call. It runs on any thread, and perhaps before pw_body_next has
 * returned.
 */
typedef void (*pw_wake)(void *user);

/**
 * The name and the value of a header, which live as long as their owner.
 */
typedef struct {
  /**
   * The name.
   */
  pw_bytes name;
  /**
   * The value.
   */
  pw_bytes value;
} pw_header;

/**
 * Gets the result of a call: a payload, or an error and NULL. Whichever is there is taken over.
 */
typedef void (*pw_on_payload)(void *user, pw_error *error, pw_payload *payload);

/**
 * Gets the reply to a request, which is taken over: free it with pw_reply_free. NULL: it was cancelled. It is called
 * exactly once, on any thread.
 */
typedef void (*pw_on_reply)(void *user, pw_reply *reply);

/**
 * The requests that are a mount's.
 */
typedef int32_t pw_place;

/**
 * The level of a line of the log.
 */
typedef int32_t pw_level;

/**
 * Gets a line of the log: the part of the host that wrote it, and the message. Both live for the call. It must not
 * block for long.
 */
typedef void (*pw_on_log)(void *user, pw_level level, const char *target, const char *message);

/**
 * Gives the next chunk of a body that the program writes: it calls pw_chunk_data, pw_chunk_end or pw_chunk_break with
 * `chunk`, which is taken over, during the call or later, from any thread. It is not called again before that. It must
 * not block: it runs on the thread that wants the chunk.
 */
typedef void (*pw_source)(void *user, pw_next *chunk);

/**
 * On the thread that needs its answer: it must not block.
 */
#define PW_RUNS_INLINE 0

/**
 * On a thread of a pool: it may block. A call takes 10 to 20 µs longer.
 */
#define PW_RUNS_BLOCKING 1

/**
 * The callback is called when the whole body is there.
 */
#define PW_BODY_WHOLE 0

/**
 * The callback is called at once, and reads the body as it arrives.
 */
#define PW_BODY_STREAM 1

/**
 * Bodies are not read.
 */
#define PW_BODY_NONE 2

/**
 * All.
 */
#define PW_PLACE_EVERYTHING 0

/**
 * Those that a route matches by path and method; the others are left to the server's own routes.
 */
#define PW_PLACE_IN_FRONT 1

/**
 * All below a prefix.
 */
#define PW_PLACE_BELOW 2

/**
 * Errors.
 */
#define PW_LEVEL_ERROR 1

/**
 * Warnings.
 */
#define PW_LEVEL_WARN 2

/**
 * Events of the server's life.
 */
#define PW_LEVEL_INFO 3

/**
 * More.
 */
#define PW_LEVEL_DEBUG 4

/**
 * Everything.
 */
#define PW_LEVEL_TRACE 5

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Answers an event with a payload, which is copied. `content_type` is usually "application/json"; the data is not
 * looked at.
 */
pw_error *pw_answer_payload(const pw_answer *answer,
                            pw_text content_type,
                            pw_bytes data);

/**
 * Answers an event with JSON, such as "null". A text that is no JSON is PW_ERROR_KIND_ARGUMENT, and answers nothing.
 */
pw_error *pw_answer_json(const pw_answer *answer,
                         pw_text json);

/**
 * Answers a request with a reply, which is taken over.
 */
pw_error *pw_answer_reply(const pw_answer *answer, pw_reply *reply);

/**
 * Leaves the reply to a request to pw_request_send.
 */
pw_error *pw_answer_defer(const pw_answer *answer);

/**
 * Fails on purpose: the caller, or the client, gets the status (400 to 599), the code (NULL for "failed") and the
 * message. With status 500 and a code for a mistake between a callback and a channel, such as "unknown-event" or
 * "bad-payload", the client gets a general sentence, and the message goes to the log: pass status, code and message of
 * the error of a call.
 */
pw_error *pw_answer_fail(const pw_answer *answer,
                         uint16_t status,
                         pw_text code,
                         pw_text message);

/**
 * As pw_answer_fail, with the status and the headers of a reply, which is taken over, and with `details`: a JSON
 * object whose fields stand beside the message; NULL for none.
 */
pw_error *pw_answer_fail_with(const pw_answer *answer,
                              pw_reply *reply,
                              pw_text code,
                              pw_text message,
                              pw_text details);

/**
 * Reports a defect of the callback, as an exception in other languages: the message goes to the log and to the event
 * server:crashed, with the kind "exception"; the client gets 500 without it.
 */
pw_error *pw_answer_crash(const pw_answer *answer,
                          pw_text message);

/**
 * Whether nobody waits for the answer any more, or it was given.
 */
bool pw_answer_is_cancelled(const pw_answer *answer);

/**
 * Has `gone` called, on a thread of the application, once nobody waits for the answer any more: the client went away,
 * a deadline passed, or the application was closed. It must not block, and may free the answer. It is not called if
 * the answer is given or freed before that. `drop` gets `user` in any case. A second callback takes the place of the
 * first.
 */
pw_error *pw_answer_when_gone(const pw_answer *answer,
                              pw_gone gone,
                              void *user,
                              pw_drop drop);

/**
 * Frees an answer. One that was not given is a defect of the callback: the client gets 500. NULL is nothing.
 */
void pw_answer_free(pw_answer *answer);

/**
 * The version of the library, such as "0.2.0". PW_VERSION is that of the header.
 */
const char *pw_version(void);

/**
 * The version of the ABI that the library has.
 */
uint32_t pw_abi_version(void);

/**
 * Starts an application. `abi` is PW_ABI_VERSION. `settings` is a JSON object with the keys of pointwork.toml, such as
 * {"limits": {"memory": "64MiB"}}, or NULL for the defaults, as `threads` is. Free *app with pw_app_free.
 *
 * Start it behind a fork, not before: a child gets PW_ERROR_KIND_FORKED from every function of an
 * application. What belongs to a request or an event of the parent has no effect in a child.
 */
pw_error *pw_app_start(uint32_t abi,
                       pw_text settings,
                       const pw_threads *threads,
                       pw_app **app);

/**
 * Ends the application: its servers accept no more, requests and events in flight end within the setting
 * `shutdown-grace` of `limits`, the rest is cancelled, and all threads end. With `done` it returns at once; with NULL
 * it waits, and must not be called from a callback. The end is PW_ERROR_KIND_TIMED_OUT if it takes longer than
 * `timeout_ms`, 0 for no limit; the application ends all the same. It may be called by a function of atexit and by a
 * destructor of the program; in the callback of pw_log it waits for nothing, and is PW_ERROR_KIND_REFUSED.
 */
pw_error *pw_app_close(const pw_app *app,
                       uint64_t timeout_ms,
                       pw_done done,
                       void *user);

/**
 * Frees an application; without pw_app_close the requests that were begun are cancelled. Mounts and servers of it may live
 * on. NULL is nothing.
 */
void pw_app_free(pw_app *app);

/**
 * Loads a module. `component` is copied. `options` is a JSON object with the keys of `[[module]]` in pointwork.toml,
 * such as {"memory": "64MiB", "grant": {"clocks": true}}, or NULL. Without `done` it waits for the end.
 */
pw_error *pw_app_load(const pw_app *app,
                      pw_text name,
                      pw_bytes component,
                      pw_text options,
                      pw_done done,
                      void *user);

/**
 * As pw_app_load, with the path of the component.
 */
pw_error *pw_app_load_file(const pw_app *app,
                           pw_text name,
                           pw_text path,
                           pw_text options,
                           pw_done done,
                           void *user);

/**
 * Swaps the component of a module without losing a request. Without `options` the module keeps its own. Otherwise as
 * pw_app_load.
 */
pw_error *pw_app_swap(const pw_app *app,
                      pw_text name,
                      pw_bytes component,
                      pw_text options,
                      pw_done done,
                      void *user);

/**
 * As pw_app_swap, with the path of the component.
 */
pw_error *pw_app_swap_file(const pw_app *app,
                           pw_text name,
                           pw_text path,
                           pw_text options,
                           pw_done done,
                           void *user);

/**
 * Makes the version before the last swap current again. Without `done` it waits for the end.
 */
pw_error *pw_app_roll_back(const pw_app *app, pw_text name, pw_done done, void *user);

/**
 * Removes a module; calls in flight end on it. Without `done` it waits for the end.
 */
pw_error *pw_app_remove(const pw_app *app, pw_text name, pw_done done, void *user);

/**
 * The routes as a JSON array, in the order of registration. Free *json with pw_text_free.
 */
pw_error *pw_app_routes(const pw_app *app, char **json);

/**
 * The modules as a JSON array, in the order loaded. Free *json with pw_text_free.
 */
pw_error *pw_app_modules(const pw_app *app, char **json);

/**
 * Writes the figures of an application to *figures.
 */
pw_error *pw_app_figures(const pw_app *app, pw_figures *figures);

/**
 * Sets the prefix of every route that is registered from now on, such as "/api", and of every module that no mount and
 * no server serves yet.
 */
pw_error *pw_app_set_prefix(const pw_app *app,
                            pw_text prefix);

/**
 * Binds a callback to an event of a channel. The channel "server" has the events of the server itself, such as
 * "crashed" and "swapped". If it is refused, `drop` is called.
 */
pw_error *pw_app_listen(const pw_app *app,
                        pw_text channel,
                        pw_text event,
                        pw_runs runs,
                        pw_on_event callback,
                        void *user,
                        pw_drop drop);

/**
 * Registers a callback for a route, such as "GET" and "/products/:id"; NULL is every method. If it is refused, `drop`
 * is called.
 */
pw_error *pw_app_route(const pw_app *app,
                       pw_text method,
                       pw_text path,
                       pw_body_mode body,
                       pw_runs runs,
                       pw_on_request callback,
                       void *user,
                       pw_drop drop);

/**
 * Calls and emits events from outside of any request. Free *caller with pw_caller_free.
 */
pw_error *pw_app_caller(const pw_app *app, pw_caller **caller);

/**
 * The next chunk: with PW_CHUNK_DATA, *data lives until the next call or pw_body_free. Without `wake` it waits for it,
 * and returns PW_CHUNK_PENDING behind `timeout_ms`, 0 for no limit. With `wake` it returns PW_CHUNK_PENDING at once if
 * nothing is there, and `wake` is called once when it is worth another call; a later call replaces it. In the child of
 * a fork it is PW_CHUNK_BROKEN.
 */
pw_chunk pw_body_next(pw_body *body,
                      uint64_t timeout_ms,
                      pw_bytes *data,
                      pw_wake wake,
                      void *user);

/**
 * Why the body broke off; an empty text if it did not. It lives as long as the body.
 */
const char *pw_body_reason(const pw_body *body);

/**
 * Frees a body. Before its end this tells the writer that nobody reads it any more. NULL is nothing.
 */
void pw_body_free(pw_body *body);

/**
 * Gives bytes, which are copied. No bytes are nothing: another chunk will be asked for.
 */
void pw_chunk_data(pw_next *chunk, pw_bytes data);

/**
 * Ends the body.
 */
void pw_chunk_end(pw_next *chunk);

/**
 * Breaks the body off, for that reason.
 */
void pw_chunk_break(pw_next *chunk, pw_text reason);

/**
 * Has `gone` called, on a thread of the application, once nobody waits for the chunk any more: the reader went away, a
 * deadline passed, or the application was closed. It must not block. The chunk still is to be given, which frees it;
 * `gone` is not called behind that, but may run on its thread at that very time. `drop` gets `user` in any case. A
 * second callback takes the place of the first.
 */
pw_error *pw_chunk_when_gone(const pw_next *chunk,
                             pw_gone gone,
                             void *user,
                             pw_drop drop);

/**
 * Frees a text that a function returned. NULL is nothing.
 *
 * # Safety
 * It is a text that a function of this library returned, and is freed once.
 */
void pw_text_free(char *text);

/**
 * The kind of an error; PW_ERROR_KIND_ARGUMENT for NULL.
 */
pw_error_kind pw_error_kind_of(const pw_error *error);

/**
 * The name of a kind, such as "timed-out"; "unknown" for a number that is no kind. It lives as long as the library.
 */
const char *pw_error_kind_name(int32_t kind);

/**
 * The text of an error, which lives as long as the error.
 */
const char *pw_error_message(const pw_error *error);

/**
 * The code of a failure of a listener or of an operation on a request, such as "unknown-event"; an empty text for
 * other errors. It lives as long as the error.
 */
const char *pw_error_code(const pw_error *error);

/**
 * The status of such a failure, 400 to 599; 0 for other errors.
 */
uint16_t pw_error_status(const pw_error *error);

/**
 * The fields beside the message of such a failure as a JSON object; NULL for none. It lives as long as the error.
 */
const char *pw_error_details(const pw_error *error);

/**
 * The header at that place of such a failure, from 0; false behind the last one. It lives as long as the error.
 */
bool pw_error_header_at(const pw_error *error,
                        size_t index,
                        pw_header *header);

/**
 * Frees an error. NULL is nothing.
 */
void pw_error_free(pw_error *error);

/**
 * The name of the event within its channel. It lives as long as the event.
 */
pw_bytes pw_event_name(const pw_event *event);

/**
 * The payload of the event. It lives as long as the event.
 */
pw_bytes pw_event_data(const pw_event *event);

/**
 * The content type of the payload. It lives as long as the event.
 */
pw_bytes pw_event_content_type(const pw_event *event);

/**
 * The id of the request that led to the event; no bytes outside of one. It lives as long as the event.
 */
pw_bytes pw_event_request_id(const pw_event *event);

/**
 * The id of the event: the same for each attempt to deliver it, another one for each event. It lives as long as the event.
 */
pw_bytes pw_event_id(const pw_event *event);

/**
 * The number of this attempt to deliver the event, from 1; always 1 unless its channel is durable.
 */
uint32_t pw_event_attempt(const pw_event *event);

/**
 * The request that was handed over with the event, once: reply with pw_request_send, and free it with pw_request_free.
 * NULL if there is none.
 */
pw_request *pw_event_take_request(pw_event *event);

/**
 * Calls and emits events in the chain of this one. Free *caller with pw_caller_free.
 */
pw_error *pw_event_caller(const pw_event *event, pw_caller **caller);

/**
 * Calls an event, such as "db:product:one". With `done` it returns at once, and `done` gets the result; `payload` may
 * be NULL then. Without it waits, and *payload is to be freed with pw_payload_free. The data is copied. A failure of
 * the listener is PW_ERROR_KIND_FAILED with its message; see pw_error_code and pw_error_status. A call that takes
 * longer than `timeout_ms`, 0 for no limit, is cancelled: PW_ERROR_KIND_TIMED_OUT.
 */
pw_error *pw_caller_call(const pw_caller *caller,
                         pw_text event,
                         pw_text content_type,
                         pw_bytes data,
                         uint64_t timeout_ms,
                         pw_payload **payload,
                         pw_on_payload done,
                         void *user);

/**
 * Emits an event, and does not wait. The data is copied. An event that nobody listens to is one line in the log.
 */
pw_error *pw_caller_emit(const pw_caller *caller,
                         pw_text event,
                         pw_text content_type,
                         pw_bytes data);

/**
 * Frees a caller. NULL is nothing.
 */
void pw_caller_free(pw_caller *caller);

/**
 * The data of a payload. It lives as long as the payload.
 */
pw_bytes pw_payload_data(const pw_payload *payload);

/**
 * The content type of a payload. It lives as long as the payload.
 */
pw_bytes pw_payload_content_type(const pw_payload *payload);

/**
 * Frees a payload. NULL is nothing.
 */
void pw_payload_free(pw_payload *payload);

/**
 * Answers a request in process, without a mount; the request is taken over. The calling thread waits. Free *reply with
 * pw_reply_free. A request that takes longer than `timeout_ms`, 0 for no limit, is cancelled: PW_ERROR_KIND_TIMED_OUT.
 */
pw_error *pw_app_handle(const pw_app *app,
                        pw_request_builder *builder,
                        uint64_t timeout_ms,
                        pw_reply **reply);

/**
 * As pw_app_handle, without waiting: the request is begun on the calling thread. If its reply is there at once, *reply
 * is the reply, *in_flight is NULL, and `done` is not called. Otherwise *reply is NULL, `done` gets the reply, and
 * *in_flight is to be freed with pw_in_flight_free. `done` may be called before this function has returned, so that it
 * must not free what `reply` and `in_flight` point to.
 */
pw_error *pw_app_begin(const pw_app *app,
                       pw_request_builder *builder,
                       pw_reply **reply,
                       pw_in_flight **in_flight,
                       pw_on_reply done,
                       void *user);

/**
 * Cancels a request: its handler is dropped, as when a client goes away. `done` gets NULL if there was no reply yet.
 */
void pw_in_flight_cancel(const pw_in_flight *in_flight);

/**
 * Frees the handle of a request, which goes on. NULL is nothing.
 */
void pw_in_flight_free(pw_in_flight *in_flight);

/**
 * Mounts the application in a server of the program. `prefix` is for PW_PLACE_BELOW alone, such as "/api", and becomes
 * that of the application, as by pw_app_set_prefix: add routes by hand after the mount. Free *mount with
 * pw_mount_free.
 */
pw_error *pw_app_mount(const pw_app *app,
                       pw_place place,
                       pw_text prefix,
                       pw_mount **mount);

/**
 * Whether the mount answers a request with that method, target and headers. The builder keeps the route that matched:
 * pw_mount_handle and pw_mount_begin of the same mount answer by it, also if a swap took the route away.
 */
bool pw_mount_accepts(const pw_mount *mount,
                      pw_request_builder *builder);

/**
 * Answers a request of the server, which is taken over. The calling thread waits. *reply is NULL if the request is not
 * the mount's: ask pw_mount_accepts first if its body matters. A request that takes longer than `timeout_ms`, 0 for no
 * limit, is cancelled: PW_ERROR_KIND_TIMED_OUT.
 */
pw_error *pw_mount_handle(const pw_mount *mount,
                          pw_request_builder *builder,
                          uint64_t timeout_ms,
                          pw_reply **reply);

/**
 * As pw_app_begin, for a request of the server. If it is not the mount's, *reply and *in_flight are NULL, and `done`
 * is not called.
 */
pw_error *pw_mount_begin(const pw_mount *mount,
                         pw_request_builder *builder,
                         pw_reply **reply,
                         pw_in_flight **in_flight,
                         pw_on_reply done,
                         void *user);

/**
 * Frees a mount, which the application goes on to know. NULL is nothing.
 */
void pw_mount_free(pw_mount *mount);

/**
 * Has a callback write the log of this process, at that level and above. There is one for all applications, and for
 * the rest of the process: a second one is refused.
 */
pw_error *pw_log(pw_level level,
                 pw_on_log callback,
                 void *user);

/**
 * Makes a reply with that status, 200 to 599, without headers and body. Free *reply with pw_reply_free, unless a
 * function takes it over.
 */
pw_error *pw_reply_new(uint16_t status,
                       pw_reply **reply);

/**
 * Adds a header. The value may have bytes above 127 in any encoding, and no control characters but tabs.
 */
pw_error *pw_reply_add_header(pw_reply *reply,
                              pw_text name,
                              pw_text value);

/**
 * Sets the whole body, which is copied.
 */
pw_error *pw_reply_set_body(pw_reply *reply, pw_bytes data);

/**
 * Sets a body that a callback writes chunk by chunk; a `length` below 0 is not known.
 */
pw_error *pw_reply_set_source(pw_reply *reply,
                              pw_source source,
                              void *user,
                              pw_drop drop,
                              int64_t length);

/**
 * The status; 0 for NULL.
 */
uint16_t pw_reply_status(const pw_reply *reply);

/**
 * The length of the body of a reply that the program got, in bytes; below 0 if it is not known beforehand.
 */
int64_t pw_reply_length(const pw_reply *reply);

/**
 * The first header of that name, in any case; `data` is NULL if there is none. It lives as long as the reply.
 */
pw_bytes pw_reply_header(const pw_reply *reply,
                         pw_text name);

/**
 * The header at that place, from 0; false behind the last one. It lives as long as the reply.
 */
bool pw_reply_header_at(const pw_reply *reply, size_t index, pw_header *header);

/**
 * The body of a reply that the program got, once. Free *body with pw_body_free.
 */
pw_error *pw_reply_body(pw_reply *reply, pw_body **body);

/**
 * Frees a reply. NULL is nothing.
 */
void pw_reply_free(pw_reply *reply);

/**
 * The method. It lives as long as the request, as all parts do.
 */
pw_bytes pw_request_method(const pw_request *request);

/**
 * The path as the client sent it, without the query.
 */
pw_bytes pw_request_path(const pw_request *request);

/**
 * The query without the `?`; no bytes for none.
 */
pw_bytes pw_request_query(const pw_request *request);

/**
 * The pattern of the route, such as /products/:id.
 */
pw_bytes pw_request_route(const pw_request *request);

/**
 * The id of the request, as the log and the reply name it.
 */
pw_bytes pw_request_id(const pw_request *request);

/**
 * The client as address:port; no bytes if it is not known.
 */
pw_bytes pw_request_remote_address(const pw_request *request);

/**
 * A parameter of the path; `data` is NULL if the route has none of that name.
 */
pw_bytes pw_request_param(const pw_request *request, pw_text name);

/**
 * The first header of that name, in any case; `data` is NULL if there is none.
 */
pw_bytes pw_request_header(const pw_request *request, pw_text name);

/**
 * The header at that place, from 0; false behind the last one.
 */
bool pw_request_header_at(const pw_request *request, size_t index, pw_header *header);

/**
 * The body, once. Free *body with pw_body_free.
 */
pw_error *pw_request_body(const pw_request *request, pw_body **body);

/**
 * Calls and emits events in the chain of the request. Free *caller with pw_caller_free.
 */
pw_error *pw_request_caller(const pw_request *request, pw_caller **caller);

/**
 * Replies to a request that was handed over, or whose answer was deferred. The reply is taken over. A second one is
 * refused.
 */
pw_error *pw_request_send(const pw_request *request,
                          pw_reply *reply);

/**
 * Fails a request that was handed over, or whose answer was deferred, as pw_answer_fail does.
 */
pw_error *pw_request_fail(const pw_request *request,
                          uint16_t status,
                          pw_text code,
                          pw_text message);

/**
 * Hands a request over with an event, such as "response:send", whose listener replies in place of the program. The
 * data is copied. The request stays the program's to free, and it does not reply any more.
 */
pw_error *pw_request_hand_over(const pw_request *request,
                               pw_text event,
                               pw_text content_type,
                               pw_bytes data);

/**
 * Whether a reply would be in vain: the client went away, or the deadline passed.
 */
bool pw_request_is_cancelled(const pw_request *request);

/**
 * Frees a request. When its last holder is gone and nobody replied, the client gets 500. NULL is nothing.
 */
void pw_request_free(pw_request *request);

/**
 * Makes a request of HTTP/1.1, with a target such as "/products?page=2". It needs a header `host`. Free *builder with
 * pw_request_builder_free, unless a function takes it over.
 */
pw_error *pw_request_builder_new(pw_text method,
                                 pw_text target,
                                 pw_request_builder **builder);

/**
 * Adds a header. The value may have bytes above 127 in any encoding, and no control characters but tabs.
 */
pw_error *pw_request_builder_add_header(pw_request_builder *builder,
                                        pw_text name,
                                        pw_text value);

/**
 * Sets the version of HTTP: 10, 11 or 20.
 */
pw_error *pw_request_builder_set_version(pw_request_builder *builder, uint32_t version);

/**
 * Sets the client: an address such as "192.0.2.7:4711" or NULL, and whether its connection has TLS.
 */
pw_error *pw_request_builder_set_peer(pw_request_builder *builder, pw_text address, bool is_secure);

/**
 * Sets the whole body, which is copied.
 */
pw_error *pw_request_builder_set_body(pw_request_builder *builder, pw_bytes data);

/**
 * Sets a body that a callback writes chunk by chunk, as somebody reads it; a `length` below 0 is not known.
 */
pw_error *pw_request_builder_set_source(pw_request_builder *builder,
                                        pw_source source,
                                        void *user,
                                        pw_drop drop,
                                        int64_t length);

/**
 * Frees a request. NULL is nothing.
 */
void pw_request_builder_free(pw_request_builder *builder);

/**
 * Serves the application at an address such as "127.0.0.1:8080"; port 0 is a free one. It returns when the server
 * listens. Free *server with pw_server_free.
 */
pw_error *pw_app_serve(const pw_app *app,
                       pw_text address,
                       pw_server **server);

/**
 * The address that the server listens on. It lives as long as the server's handle.
 */
const char *pw_server_address(const pw_server *server);

/**
 * Stops the server: no connection is accepted any more, and requests in flight end within the setting `shutdown-grace`
 * of `limits`. With `done` it returns at once; with NULL it waits for the end, and must not be called from a callback.
 * The end is PW_ERROR_KIND_TIMED_OUT if it takes longer than `timeout_ms`, 0 for no limit; the server stops all the
 * same.
 */
pw_error *pw_server_stop(const pw_server *server,
                         uint64_t timeout_ms,
                         pw_done done,
                         void *user);

/**
 * Frees the handle of a server, which serves on until pw_server_stop or pw_app_close. NULL is nothing.
 */
void pw_server_free(pw_server *server);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* POINTWORK_H */
