/* What the programs of the tests share. */
#ifndef COMMON_H
#define COMMON_H

#include <pointwork.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition);                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Ends the program with the message of an error. */
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        pw_error *failed = (call);                                                                                     \
        if (failed) {                                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, pw_error_message(failed));                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Expects an error of that kind, with a message that contains the part. */
#define FAILS(call, expected, part)                                                                                    \
    do {                                                                                                               \
        pw_error *failed = (call);                                                                                     \
        CHECK(failed != NULL);                                                                                         \
        if (pw_error_kind_of(failed) != (expected) || !strstr(pw_error_message(failed), part)) {                       \
            fprintf(stderr, "%s:%d: kind %d: %s\n", __FILE__, __LINE__, pw_error_kind_of(failed),                      \
                    pw_error_message(failed));                                                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
        pw_error_free(failed);                                                                                         \
    } while (0)

static inline pw_bytes bytes(const char *text) {
    pw_bytes bytes = {(const uint8_t *)text, strlen(text)};
    return bytes;
}

static inline int is(pw_bytes bytes, const char *text) {
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

/* The path of a component of the tests. */
static inline const char *component(const char *name) {
    static char path[4096];
    const char *folder = getenv("COMPONENTS");
    CHECK(folder != NULL);
    snprintf(path, sizeof path, "%s/%s.wasm", folder, name);
    return path;
}

static inline pw_app *start(const char *settings) {
    pw_app *app = NULL;
    OK(pw_app_start(PW_ABI_VERSION, settings, NULL, &app));
    return app;
}

static inline pw_request_builder *request_of(const char *method, const char *target) {
    pw_request_builder *builder = NULL;
    OK(pw_request_builder_new(method, target, &builder));
    OK(pw_request_builder_add_header(builder, "host", "localhost"));
    return builder;
}

/* Reads the rest of a body into the buffer, as a text. */
static inline void read_body(pw_body *body, char *buffer, size_t room) {
    size_t length = 0;
    pw_bytes data;
    pw_chunk chunk;
    while ((chunk = pw_body_next(body, 0, &data, NULL, NULL)) == PW_CHUNK_DATA) {
        CHECK(length + data.size < room);
        memcpy(buffer + length, data.data, data.size);
        length += data.size;
    }
    if (chunk != PW_CHUNK_END) {
        fprintf(stderr, "the body broke off: %s\n", pw_body_reason(body));
        exit(1);
    }
    buffer[length] = '\0';
    pw_body_free(body);
}

/* Reads and frees a reply; the result is its status. */
static inline int read_reply(pw_reply *reply, char *buffer, size_t room) {
    CHECK(reply != NULL);
    pw_body *body = NULL;
    int status = pw_reply_status(reply);
    OK(pw_reply_body(reply, &body));
    read_body(body, buffer, room);
    pw_reply_free(reply);
    return status;
}

/* Has a GET request answered; the result is the status. */
static inline int get(pw_app *app, const char *target, char *buffer, size_t room) {
    pw_reply *reply = NULL;
    OK(pw_app_handle(app, request_of("GET", target), 0, &reply));
    return read_reply(reply, buffer, room);
}

/* Something that another thread brings about, once. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
} signal_t;

static inline void signal_init(signal_t *signal) {
    pthread_mutex_init(&signal->lock, NULL);
    pthread_cond_init(&signal->changed, NULL);
    signal->count = 0;
}

static inline void signal_give(void *signal_) {
    signal_t *signal = signal_;
    pthread_mutex_lock(&signal->lock);
    signal->count++;
    pthread_cond_broadcast(&signal->changed);
    pthread_mutex_unlock(&signal->lock);
}

/* Waits, for five minutes at most: under valgrind, a component takes a minute to compile. */
static inline void signal_wait(signal_t *signal, int count) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 300;
    pthread_mutex_lock(&signal->lock);
    while (signal->count < count)
        CHECK(pthread_cond_timedwait(&signal->changed, &signal->lock, &until) == 0);
    pthread_mutex_unlock(&signal->lock);
}

static inline void done(void *user, pw_error *error) {
    OK(error);
    signal_give(user);
}

/* Closes and frees an application. */
static inline void end(pw_app *app) {
    OK(pw_app_close(app, 0, NULL, NULL));
    pw_app_free(app);
}

/* A part of a program, which its argument names. */
typedef struct {
    const char *name;
    void (*run)(void);
} way;

#define WAY(name)                                                                                                      \
    { #name, name }

static inline int run_way(const way *ways, size_t number, int count, char **arguments) {
    for (size_t i = 0; i < number; i++) {
        if (count == 2 && strcmp(arguments[1], ways[i].name) == 0) {
            ways[i].run();
            puts("survived");
            return 0;
        }
    }
    fputs("expected the name of a way\n", stderr);
    return 2;
}

#endif
