/* Mounts the controllers of a component in libmicrohttpd, in front of a route of its own: microhttpd COMPONENT [PORT] */
#define _GNU_SOURCE
#include <microhttpd.h>
#include <pointwork.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(pw_error *error) {
    if (!error)
        return;
    fprintf(stderr, "error: %s\n", pw_error_message(error));
    pw_error_free(error);
    exit(1);
}

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

static char *text_of(pw_bytes bytes) {
    char *text = malloc(bytes.size + 1);
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return text;
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, pw_reply *reply) {
    pw_header header;
    struct MHD_Response *response;
    int64_t length = pw_reply_length(reply);
    reader *reader = calloc(1, sizeof *reader);
    check(pw_reply_body(reply, &reader->body));
    if (length >= 0)
        pw_body_next(reader->body, &reader->rest, NULL, NULL);
    if (length >= 0 && reader->rest.size == (uint64_t)length) {
        /* The body is there as a whole, as most are: it is sent with the head in one piece. */
        response = MHD_create_response_from_buffer(length, (void *)reader->rest.data, MHD_RESPMEM_MUST_COPY);
        free_reader(reader);
    } else {
        response = MHD_create_response_from_callback(length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)length, 16384, next_piece,
                                                     reader, free_reader);
    }
    for (size_t i = 0; pw_reply_header_at(reply, i, &header); i++) {
        char *name = text_of(header.name), *value = text_of(header.value);
        MHD_add_response_header(response, name, value);
        free(name), free(value);
    }
    enum MHD_Result queued = MHD_queue_response(connection, pw_reply_status(reply), response);
    MHD_destroy_response(response);
    pw_reply_free(reply);
    return queued;
}

/* The server's own route, behind those of the application. */
static enum MHD_Result own_route(struct MHD_Connection *connection, const char *path) {
    const char *page = strcmp(path, "/own") == 0 ? "the server's own\n" : "not found\n";
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(page), (void *)page, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued = MHD_queue_response(connection, strcmp(path, "/own") == 0 ? 200 : 404, response);
    MHD_destroy_response(response);
    return queued;
}

static void *begin(void *mount, const char *target, struct MHD_Connection *connection) {
    (void)mount, (void)connection;
    exchange *exchange = calloc(1, sizeof *exchange);
    exchange->target = strdup(target);
    return exchange;
}

static void complete(void *mount, struct MHD_Connection *connection, void **own, enum MHD_RequestTerminationCode code) {
    (void)mount, (void)connection, (void)code;
    exchange *exchange = *own;
    if (exchange)
        free(exchange->target), free(exchange->body), free(exchange);
}

static enum MHD_Result answer(void *mount, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *data, size_t *size, void **own) {
    exchange *exchange = *own;
    (void)version;
    /* The first call is for the head alone, each further one brings a piece of the body, and the last one none. */
    if (!exchange->has_begun) {
        exchange->has_begun = 1;
        return MHD_YES;
    }
    if (*size > 0) {
        exchange->body = realloc(exchange->body, exchange->size + *size);
        memcpy(exchange->body + exchange->size, data, *size);
        exchange->size += *size;
        *size = 0;
        return MHD_YES;
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

int main(int count, char **arguments) {
    pw_app *app;
    pw_mount *mount;
    if (count < 2) {
        fputs("usage: microhttpd COMPONENT [PORT]\n", stderr);
        return 2;
    }
    check(pw_app_start(PW_ABI_VERSION, NULL, &app));
    check(pw_app_load_file(app, "shop", arguments[1], NULL, NULL, NULL));
    check(pw_app_mount(app, PW_PLACE_IN_FRONT, NULL, &mount));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(count > 2 ? atoi(arguments[2]) : 0)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, answer, mount,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_URI_LOG_CALLBACK, begin, mount, MHD_OPTION_NOTIFY_COMPLETED,
        complete, NULL, MHD_OPTION_END);
    if (!daemon) {
        fputs("error: the server does not start\n", stderr);
        return 1;
    }
    printf("listening on http://127.0.0.1:%d, until the end of the input\n",
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    MHD_stop_daemon(daemon);
    pw_mount_free(mount);
    check(pw_app_close(app, NULL, NULL));
    pw_app_free(app);
    return 0;
}
