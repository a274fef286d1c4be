/* Mounts an application in libmicrohttpd, whose connections have a thread each. Copy this file into your program:
 *
 *     #define _GNU_SOURCE
 *     #include "pointwork_microhttpd.h"
 *
 *     struct microhttpd_mount mounted = {mount, own_route};
 *     MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, port, NULL, NULL, mount_answer, &mounted,
 *                      MHD_OPTION_URI_LOG_CALLBACK, mount_begin, NULL, MHD_OPTION_NOTIFY_COMPLETED, mount_complete, NULL,
 *                      MHD_OPTION_END);
 */
#ifndef POINTWORK_MICROHTTPD_H
#define POINTWORK_MICROHTTPD_H

#include <microhttpd.h>
#include <pointwork.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An application, and the server's own routes, which get the requests that are not the application's. */
struct microhttpd_mount {
    const pw_mount *mount;
    enum MHD_Result (*own)(struct MHD_Connection *connection, const char *path);
};

/* The most of a body that the server keeps. */
#define MOST_KEPT (2 * 1024 * 1024)

/* How often the server looks for a client that left, while the application works on its reply: 50 ms. */
#define LOOK_EVERY_NS 50000000

/* A request. libmicrohttpd, the application that reads its body and the one that answers it hold it, on their threads. */
typedef struct {
    char *target;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int holders;
    int has_begun, has_body, is_ours, is_answered, is_whole, is_broken;
    /* The chunk of the body that the application waits for. */
    pw_next *wanted;
    /* libmicrohttpd sends no reply before the body is over: what comes after the reply has begun is kept. */
    char *kept;
    size_t size;
    pw_reply *reply;
    pw_in_flight *in_flight;
} exchange;

static inline void release(void *exchange_) {
    exchange *exchange = exchange_;
    pthread_mutex_lock(&exchange->lock);
    int left = --exchange->holders;
    pthread_mutex_unlock(&exchange->lock);
    if (left > 0)
        return;
    pw_reply_free(exchange->reply);
    pthread_mutex_destroy(&exchange->lock);
    pthread_cond_destroy(&exchange->changed);
    free(exchange->target), free(exchange->kept), free(exchange);
}

static inline void hold(exchange *exchange) {
    pthread_mutex_lock(&exchange->lock);
    exchange->holders++;
    pthread_mutex_unlock(&exchange->lock);
}

/* The application wants the next chunk of the body. */
static inline void want_chunk(void *exchange_, pw_next *chunk) {
    exchange *exchange = exchange_;
    pthread_mutex_lock(&exchange->lock);
    int is_whole = exchange->is_whole, is_broken = exchange->is_broken;
    char *kept = exchange->kept;
    size_t size = exchange->size;
    exchange->kept = NULL;
    exchange->size = 0;
    if (!kept && !is_whole && !is_broken)
        exchange->wanted = chunk;
    pthread_cond_broadcast(&exchange->changed);
    pthread_mutex_unlock(&exchange->lock);
    if (kept)
        pw_chunk_data(chunk, (pw_bytes){(const uint8_t *)kept, size});
    else if (is_broken)
        pw_chunk_break(chunk, "the body is not there");
    else if (is_whole)
        pw_chunk_end(chunk);
    free(kept);
}

/* The application has answered. */
static inline void take_reply(void *exchange_, pw_reply *reply) {
    exchange *exchange = exchange_;
    pthread_mutex_lock(&exchange->lock);
    exchange->reply = reply;
    exchange->is_answered = 1;
    pthread_cond_broadcast(&exchange->changed);
    pthread_mutex_unlock(&exchange->lock);
    release(exchange);
}

/* Keeps a chunk of the body for later. */
static inline void keep(exchange *exchange, const char *data, size_t size) {
    pthread_mutex_lock(&exchange->lock);
    exchange->is_broken |= size > MOST_KEPT - exchange->size;
    char *kept = exchange->is_broken ? NULL : realloc(exchange->kept, exchange->size + size);
    if (kept) {
        memcpy(kept + exchange->size, data, size);
        exchange->kept = kept;
        exchange->size += size;
    }
    exchange->is_broken |= !kept;
    pthread_mutex_unlock(&exchange->lock);
}

/* Whether the client has closed its connection. libmicrohttpd does not look while a handler runs. */
static inline int has_left(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd socket = {.fd = info->connect_fd, .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0 && socket.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* Waits until the application wants a chunk of the body or has answered; MHD_NO if the client leaves before. */
static inline enum MHD_Result wait_for_it(struct MHD_Connection *connection, exchange *exchange) {
    enum MHD_Result stays = MHD_YES;
    pthread_mutex_lock(&exchange->lock);
    while (stays && !exchange->wanted && !exchange->is_answered) {
        struct timespec look;
        clock_gettime(CLOCK_REALTIME, &look);
        look.tv_nsec += LOOK_EVERY_NS;
        look.tv_sec += look.tv_nsec / 1000000000, look.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&exchange->changed, &exchange->lock, &look) == ETIMEDOUT && has_left(connection))
            stays = MHD_NO;
    }
    pthread_mutex_unlock(&exchange->lock);
    return stays;
}

/* The chunk of the body that the application waits for, or NULL. */
static inline pw_next *take_want(exchange *exchange) {
    pthread_mutex_lock(&exchange->lock);
    pw_next *wanted = exchange->wanted;
    exchange->wanted = NULL;
    pthread_mutex_unlock(&exchange->lock);
    return wanted;
}

/* The body of a reply, and what is left of its last chunk. */
typedef struct {
    pw_body *body;
    pw_bytes rest;
} reader;

/* A request, and whether a header of it was invalid. */
typedef struct {
    pw_request_builder *builder;
    int is_invalid;
} heading;

static inline enum MHD_Result add_header(void *heading_, enum MHD_ValueKind kind, const char *name, const char *value) {
    heading *heading = heading_;
    (void)kind;
    pw_error *invalid = pw_request_builder_add_header(heading->builder, name, value ? value : "");
    heading->is_invalid |= invalid != NULL;
    pw_error_free(invalid);
    return invalid ? MHD_NO : MHD_YES;
}

/* Gives libmicrohttpd the next chunk of a reply. */
static inline ssize_t next_chunk(void *reader_, uint64_t position, char *buffer, size_t room) {
    reader *reader = reader_;
    (void)position;
    if (reader->rest.size == 0) {
        pw_chunk chunk = pw_body_next(reader->body, 0, &reader->rest, NULL, NULL);
        if (chunk != PW_CHUNK_DATA)
            return chunk == PW_CHUNK_END ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t size = reader->rest.size < room ? reader->rest.size : room;
    memcpy(buffer, reader->rest.data, size);
    reader->rest.data += size;
    reader->rest.size -= size;
    return (ssize_t)size;
}

static inline void free_reader(void *reader_) {
    reader *reader = reader_;
    pw_body_free(reader->body);
    free(reader);
}

static inline char *text_of(pw_bytes bytes) {
    char *text = malloc(bytes.size + 1);
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return text;
}

static inline enum MHD_Result send_reply(struct MHD_Connection *connection, pw_reply *reply, const char *method) {
    pw_header header;
    struct MHD_Response *response;
    int64_t length = pw_reply_length(reply);
    pw_bytes of_get = pw_reply_header(reply, "content-length");
    /* The reply to HEAD, and 304, have no body, and the length of what GET would send. libmicrohttpd cannot leave an unknown one out. */
    if (strcmp(method, "HEAD") == 0 || pw_reply_status(reply) == 304) {
        char *text = of_get.data ? text_of(of_get) : NULL;
        length = text ? atoll(text) : 0;
        free(text);
    }
    reader *reader = calloc(1, sizeof *reader);
    pw_error_free(pw_reply_body(reply, &reader->body));
    if (length >= 0)
        pw_body_next(reader->body, 0, &reader->rest, NULL, NULL);
    if (length >= 0 && reader->rest.size == (uint64_t)length) {
        /* The body is there as a whole, as most are: it is sent together with the head. */
        response = MHD_create_response_from_buffer(length, (void *)reader->rest.data, MHD_RESPMEM_MUST_COPY);
        free_reader(reader);
    } else {
        response = MHD_create_response_from_callback(length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)length, 16384, next_chunk,
                                                     reader, free_reader);
    }
    for (size_t i = 0; pw_reply_header_at(reply, i, &header); i++) {
        char *name = text_of(header.name), *value = text_of(header.value);
        MHD_add_response_header(response, name, value);
        free(name), free(value);
    }
    /* The bytes behind CONNECT on its connection are not HTTP. */
    if (strcmp(method, "CONNECT") == 0)
        MHD_add_response_header(response, "connection", "close");
    enum MHD_Result queued = MHD_queue_response(connection, pw_reply_status(reply), response);
    MHD_destroy_response(response);
    pw_reply_free(reply);
    return queued;
}

static inline void *mount_begin(void *unused, const char *target, struct MHD_Connection *connection) {
    (void)unused, (void)connection;
    exchange *exchange = calloc(1, sizeof *exchange);
    exchange->target = strdup(target);
    exchange->holders = 1;
    pthread_mutex_init(&exchange->lock, NULL);
    pthread_cond_init(&exchange->changed, NULL);
    return exchange;
}

static inline void mount_complete(void *unused, struct MHD_Connection *connection, void **own,
                                  enum MHD_RequestTerminationCode code) {
    (void)unused, (void)connection, (void)code;
    exchange *exchange = *own;
    if (!exchange)
        return;
    pthread_mutex_lock(&exchange->lock);
    pw_next *wanted = exchange->wanted;
    exchange->wanted = NULL;
    exchange->is_broken |= !exchange->is_whole;
    int is_answered = exchange->is_answered;
    pthread_mutex_unlock(&exchange->lock);
    if (wanted)
        pw_chunk_break(wanted, "the client went away");
    if (!is_answered)
        pw_in_flight_cancel(exchange->in_flight);
    pw_in_flight_free(exchange->in_flight);
    release(exchange);
}

/* Begins a request of the application; MHD_NO if it cannot be one. */
static inline enum MHD_Result ask(const pw_mount *mount, struct MHD_Connection *connection, const char *method,
                                  exchange *exchange) {
    heading heading = {0};
    pw_reply *reply = NULL;
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "content-length");
    int is_chunked = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "transfer-encoding") != NULL;
    pw_error *invalid = pw_request_builder_new(method, exchange->target, &heading.builder);
    if (invalid) {
        pw_error_free(invalid);
        return MHD_NO;
    }
    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, &heading);
    /* Without one of its headers it would be another request. */
    if (heading.is_invalid) {
        pw_request_builder_free(heading.builder);
        return MHD_NO;
    }
    exchange->has_body = is_chunked || (length && strcmp(length, "0") != 0);
    if (exchange->has_body) {
        hold(exchange);
        pw_error_free(pw_request_builder_set_source(heading.builder, want_chunk, exchange, release, is_chunked ? -1 : atoll(length)));
    }
    exchange->has_begun = 1;
    hold(exchange);
    pw_error *refused = pw_mount_begin(mount, heading.builder, &reply, &exchange->in_flight, take_reply, exchange);
    if (refused) {
        /* The application is closed. */
        pw_error_free(refused);
        release(exchange);
        return MHD_NO;
    }
    exchange->is_ours = reply || exchange->in_flight;
    if (reply)
        take_reply(exchange, reply);
    else if (!exchange->is_ours)
        release(exchange);
    return MHD_YES;
}

/* Queues the reply, which libmicrohttpd takes at the beginning of a body and behind its end. */
static inline enum MHD_Result send_taken(struct MHD_Connection *connection, exchange *exchange, const char *method) {
    pw_reply *reply = exchange->reply;
    exchange->reply = NULL;
    return reply ? send_reply(connection, reply, method) : MHD_NO;
}

/* The head of a request is there. */
static inline enum MHD_Result take_head(const pw_mount *mount, struct MHD_Connection *connection, const char *method,
                                        exchange *exchange) {
    if (!ask(mount, connection, method, exchange))
        return MHD_NO;
    /* A reply that is queued now closes the connection, which is right only if there is a body to leave unread. */
    if (!exchange->is_ours || !exchange->has_body)
        return MHD_YES;
    if (!wait_for_it(connection, exchange))
        return MHD_NO;
    /* A reply that is whole does not wait for the body; a reply in chunks may yet need it. */
    pthread_mutex_lock(&exchange->lock);
    int is_there = exchange->reply && pw_reply_length(exchange->reply) >= 0;
    pthread_mutex_unlock(&exchange->lock);
    return is_there ? send_taken(connection, exchange, method) : MHD_YES;
}

/* A chunk of the body is there. */
static inline enum MHD_Result take_chunk(struct MHD_Connection *connection, exchange *exchange, const char *data,
                                         size_t size) {
    if (!wait_for_it(connection, exchange))
        return MHD_NO;
    pw_next *wanted = take_want(exchange);
    if (wanted)
        pw_chunk_data(wanted, (pw_bytes){(const uint8_t *)data, size});
    else
        keep(exchange, data, size);
    return MHD_YES;
}

/* The request is there as a whole. */
static inline enum MHD_Result take_end(struct MHD_Connection *connection, const char *method, exchange *exchange) {
    pthread_mutex_lock(&exchange->lock);
    exchange->is_whole = !exchange->is_broken;
    pthread_mutex_unlock(&exchange->lock);
    for (pw_next *wanted; wait_for_it(connection, exchange) && (wanted = take_want(exchange));)
        pw_chunk_end(wanted);
    return send_taken(connection, exchange, method);
}

/* Each connection has a thread of its own, which may wait. */
static inline enum MHD_Result mount_answer(void *mounted_, struct MHD_Connection *connection, const char *path,
                                           const char *method, const char *version, const char *data, size_t *size,
                                           void **own) {
    const struct microhttpd_mount *mounted = mounted_;
    exchange *exchange = *own;
    (void)version;
    /* The first call is for the head alone, each further one brings a chunk of the body, and the last one none. */
    if (!exchange->has_begun)
        return take_head(mounted->mount, connection, method, exchange);
    size_t brought = *size;
    *size = 0;
    if (!exchange->is_ours)
        return brought > 0 ? MHD_YES : mounted->own(connection, path);
    return brought > 0 ? take_chunk(connection, exchange, data, brought) : take_end(connection, method, exchange);
}

#endif
