/* The server: libmicrohttpd, with a thread for each connection. */
#define _GNU_SOURCE
#include "shop.h"
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

/* One byte more than the limit `body` of an application: with that many it refuses a request. */
#define MOST_BYTES (2 * 1024 * 1024 + 1)

static pw_mount *mount;
static struct MHD_Daemon *server;

/* The requests in flight, which the end of the server waits for. */
static int in_flight;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_idle = PTHREAD_COND_INITIALIZER;

/* A request: its target as the client sent it, and its body as far as it has arrived. */
typedef struct {
    char *target;
    int has_begun;
    char *body;
    size_t size;
} exchange;

/* The body of a reply, and what is left of its last piece. */
typedef struct {
    pw_body *body;
    pw_bytes rest;
} reader;

/* A message, and whether a header of it was invalid. */
typedef struct {
    pw_message *message;
    int is_invalid;
} heading;

static enum MHD_Result add_header(void *heading_, enum MHD_ValueKind kind, const char *name, const char *value) {
    heading *heading = heading_;
    (void)kind;
    pw_error *invalid = pw_message_add_header(heading->message, name, value ? value : "");
    heading->is_invalid |= invalid != NULL;
    pw_error_free(invalid);
    return invalid ? MHD_NO : MHD_YES;
}

/* Gives libmicrohttpd the next piece of a reply. */
static ssize_t next_piece(void *reader_, uint64_t position, char *buffer, size_t room) {
    reader *reader = reader_;
    (void)position;
    if (reader->rest.size == 0) {
        pw_piece piece = pw_body_next(reader->body, &reader->rest, NULL, NULL);
        if (piece != PW_PIECE_DATA)
            return piece == PW_PIECE_END ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t size = reader->rest.size < room ? reader->rest.size : room;
    memcpy(buffer, reader->rest.data, size);
    reader->rest.data += size;
    reader->rest.size -= size;
    return (ssize_t)size;
}

static void free_reader(void *reader_) {
    reader *reader = reader_;
    pw_body_free(reader->body);
    free(reader);
}

/* The length that a reply tells. A reply to HEAD has that of the body which it leaves out. */
static uint64_t length_of(const pw_reply *reply) {
    pw_bytes told = pw_reply_header(reply, "content-length");
    int64_t length = pw_reply_length(reply);
    if (told.data) {
        char digits[24] = {0};
        memcpy(digits, told.data, told.size < sizeof digits ? told.size : sizeof digits - 1);
        return strtoull(digits, NULL, 10);
    }
    return length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)length;
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, pw_reply *reply) {
    pw_header header;
    reader *reader = calloc(1, sizeof *reader);
    check(pw_reply_body(reply, &reader->body));
    struct MHD_Response *response =
        MHD_create_response_from_callback(length_of(reply), 16384, next_piece, reader, free_reader);
    for (size_t i = 0; pw_reply_header_at(reply, i, &header); i++) {
        char *name = strndup((const char *)header.name.data, header.name.size);
        char *value = strndup((const char *)header.value.data, header.value.size);
        /* libmicrohttpd writes the length itself. */
        if (strcasecmp(name, "content-length") != 0)
            MHD_add_response_header(response, name, value);
        free(name), free(value);
    }
    enum MHD_Result queued = MHD_queue_response(connection, pw_reply_status(reply), response);
    MHD_destroy_response(response);
    pw_reply_free(reply);
    return queued;
}

/* The server's own routes, behind those of the application. */
static enum MHD_Result own_route(struct MHD_Connection *connection, const char *path) {
    char page[64] = "not found\n";
    int is_version = strcmp(path, "/version") == 0;
    if (is_version)
        snprintf(page, sizeof page, "libmicrohttpd %s\n", MHD_get_version());
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(page), page, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "content-type", "text/plain; charset=utf-8");
    enum MHD_Result queued = MHD_queue_response(connection, is_version ? 200 : 404, response);
    MHD_destroy_response(response);
    return queued;
}

static void *begin(void *unused, const char *target, struct MHD_Connection *connection) {
    (void)unused, (void)connection;
    exchange *exchange = calloc(1, sizeof *exchange);
    exchange->target = strdup(target);
    pthread_mutex_lock(&lock);
    in_flight++;
    pthread_mutex_unlock(&lock);
    return exchange;
}

static void complete(void *unused, struct MHD_Connection *connection, void **own, enum MHD_RequestTerminationCode code) {
    (void)unused, (void)connection, (void)code;
    exchange *exchange = *own;
    if (!exchange)
        return;
    free(exchange->target), free(exchange->body), free(exchange);
    pthread_mutex_lock(&lock);
    if (--in_flight == 0)
        pthread_cond_signal(&is_idle);
    pthread_mutex_unlock(&lock);
}

/* Keeps a piece of a body; of one that is too long as much as shows that. */
static int keep(exchange *exchange, const char *data, size_t size) {
    if (size > MOST_BYTES - exchange->size)
        size = MOST_BYTES - exchange->size;
    char *body = realloc(exchange->body, exchange->size + size + 1);
    if (!body)
        return 0;
    memcpy(body + exchange->size, data, size);
    exchange->body = body;
    exchange->size += size;
    return 1;
}

static enum MHD_Result answer(void *unused, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *data, size_t *size, void **own) {
    exchange *exchange = *own;
    (void)unused, (void)version;
    /* The first call is for the head alone, each further one brings a piece of the body, and the last one none. */
    if (!exchange->has_begun) {
        exchange->has_begun = 1;
        return MHD_YES;
    }
    if (*size > 0) {
        enum MHD_Result kept = keep(exchange, data, *size) ? MHD_YES : MHD_NO;
        *size = 0;
        return kept;
    }
    heading heading = {0};
    pw_reply *reply = NULL;
    pw_bytes body = {(const uint8_t *)exchange->body, exchange->size};
    pw_error *invalid = pw_message_new(method, exchange->target, &heading.message);
    if (invalid) {
        pw_error_free(invalid);
        return MHD_NO;
    }
    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, &heading);
    /* Without one of its headers it would be another request. */
    if (heading.is_invalid) {
        pw_message_free(heading.message);
        return MHD_NO;
    }
    check(pw_message_set_body(heading.message, body));
    /* Each connection has a thread of its own, which may wait. */
    check(pw_mount_handle(mount, heading.message, &reply));
    return reply ? send_reply(connection, reply) : own_route(connection, path);
}

/* A socket that listens at an address such as 127.0.0.1:8080 or [::1]:8080. */
static int listener(const char *address) {
    char *host = strdup(address), *port = strrchr(host, ':'), *name = host;
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    if (!port)
        fail("`%s`: expected an address and a port, such as 127.0.0.1:8080", address);
    *port++ = '\0';
    if (*name == '[')
        name++, name[strcspn(name, "]")] = '\0';
    int code = getaddrinfo(name, port, &hints, &found);
    if (code != 0)
        fail("cannot listen on `%s`: %s", address, gai_strerror(code));
    int on = 1, socket_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket_ < 0 || bind(socket_, found->ai_addr, found->ai_addrlen) != 0 || listen(socket_, 1024) != 0)
        fail("cannot listen on `%s`: %m", address);
    freeaddrinfo(found);
    free(host);
    return socket_;
}

void start_server(pw_app *app, const char *address) {
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    int listening = listener(address);
    check(pw_app_mount(app, PW_PLACE_IN_FRONT, NULL, &mount));
    server = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC, 0, NULL,
                              NULL, answer, NULL, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_URI_LOG_CALLBACK, begin, NULL,
                              MHD_OPTION_NOTIFY_COMPLETED, complete, NULL, MHD_OPTION_CONNECTION_TIMEOUT, 60u,
                              MHD_OPTION_END);
    if (!server)
        fail("the server does not start");
    getsockname(listening, (struct sockaddr *)&bound, &size);
    getnameinfo((struct sockaddr *)&bound, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    printf(strchr(host, ':') ? "listening on http://[%s]:%s\n" : "listening on http://%s:%s\n", host, port);
}

void stop_server(void) {
    struct timespec until;
    /* Clients are refused from now on. The socket is closed behind the threads that may use it. */
    int listening = MHD_quiesce_daemon(server);
    shutdown(listening, SHUT_RDWR);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&lock);
    while (in_flight > 0 && pthread_cond_timedwait(&is_idle, &lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&lock);
    MHD_stop_daemon(server);
    close(listening);
    pw_mount_free(mount);
}
