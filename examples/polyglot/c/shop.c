/* The shop of examples/products in a program of C. SIGHUP swaps in the component again, SIGINT and SIGTERM end it. */
#define _GNU_SOURCE
#include "shop.h"
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void check(pw_error *error) {
    if (error)
        fail("%s", pw_error_message(error));
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("error: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

static pw_reply *reply_of(const char *content_type, const char *body) {
    pw_reply *reply;
    check(pw_reply_new(200, &reply));
    check(pw_reply_add_header(reply, "content-type", content_type));
    check(pw_reply_set_body(reply, (pw_bytes){(const uint8_t *)body, strlen(body)}));
    return reply;
}

/* The event `response:send`: the channel replies instead of the controller, with a text. */
static void on_send(void *unused, pw_event *event, pw_answer *answer) {
    (void)unused;
    pw_request *request = pw_event_take_request(event);
    char *text = query("SELECT ?1 ->> '$'", pw_event_data(event));
    if (request && text) {
        /* The client may have gone away. */
        pw_error_free(pw_request_send(request, reply_of("text/plain; charset=utf-8", text)));
    }
    pw_request_free(request);
    free(text);
    pw_error_free(pw_answer_json(answer, "null"));
    pw_answer_free(answer);
}

/* The route GET /about: a route of the program itself, which asks the channel as the controllers do. */
static void about(void *unused, pw_request *request, pw_answer *answer) {
    (void)unused;
    pw_caller *caller;
    pw_payload *payload;
    check(pw_request_caller(request, &caller));
    pw_error *failure = pw_caller_call(caller, "db:product:count", "application/json", (pw_bytes){(const uint8_t *)"null", 4}, 0, &payload,
                                       NULL, NULL);
    if (failure) {
        pw_error_free(pw_answer_fail(answer, 503, NULL, pw_error_message(failure)));
        pw_error_free(failure);
    } else {
        char *page = query("SELECT json_object('language', 'C', 'products', ?1 ->> '$.products')", pw_payload_data(payload));
        pw_error_free(pw_answer_reply(answer, reply_of("application/json", page ? page : "null")));
        pw_payload_free(payload);
        free(page);
    }
    pw_caller_free(caller);
    pw_request_free(request);
    pw_answer_free(answer);
}

/* Swaps in the component again. Without a change of the file nothing changes. */
static void swap(pw_app *app, const char *component) {
    char *modules;
    pw_error *refused = pw_app_swap_file(app, "products", component, NULL, NULL, NULL);
    if (refused) {
        fprintf(stderr, "error: not swapped: %s\n", pw_error_message(refused));
        pw_error_free(refused);
        return;
    }
    check(pw_app_modules(app, &modules));
    char *line = query("SELECT format('%s: version %.12s, routes: %d', value ->> '$.name', value ->> '$.digest', value ->> '$.routes') "
                       "FROM json_each(?1)",
                       (pw_bytes){(const uint8_t *)modules, strlen(modules)});
    printf("swapped %s\n", line);
    free(line);
    pw_text_free(modules);
}

static void log_line(void *unused, pw_level level, const char *target, const char *message) {
    (void)unused, (void)level;
    fprintf(stderr, "%s: %s\n", target, message);
}

int main(int count, char **arguments) {
    static const struct option OPTIONS[] = {{"listen", 1, NULL, 'l'}, {"component", 1, NULL, 'c'}, {"database", 1, NULL, 'd'},
                                            {"schema", 1, NULL, 's'}, {NULL, 0, NULL, 0}};
    const char *listen = "127.0.0.1:0", *component = NULL, *database = NULL, *schema = NULL;
    int option, sent = 0;
    while ((option = getopt_long(count, arguments, "", OPTIONS, NULL)) != -1) {
        if (option == '?')
            return 2;
        *(option == 'l' ? &listen : option == 'c' ? &component : option == 'd' ? &database : &schema) = optarg;
    }
    if (optind < count || !component || !database || !schema) {
        fprintf(stderr, "usage: %s --component FILE --database FILE --schema FILE [--listen ADDRESS]\n", arguments[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    /* The signals are for sigwait: before the library starts its threads, which have this mask, too. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP), sigaddset(&signals, SIGINT), sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);

    pw_app *app;
    check(pw_log(PW_LEVEL_WARN, log_line, NULL));
    check(pw_app_start(PW_ABI_VERSION, NULL, NULL, &app));
    open_database(app, database, schema);
    check(pw_app_listen(app, "response", "send", PW_RUNS_BLOCKING, on_send, NULL, NULL));
    check(pw_app_route(app, "GET", "/about", PW_BODY_NONE, PW_RUNS_BLOCKING, about, NULL, NULL));
    check(pw_app_load_file(app, "products", component, NULL, NULL, NULL));
    start_server(app, listen);
    printf("`kill -HUP %d` swaps in %s again\n", getpid(), component);
    while (sigwait(&signals, &sent) == 0 && sent == SIGHUP)
        swap(app, component);

    stop_server();
    check(pw_app_close(app, 0, NULL, NULL));
    pw_app_free(app);
    close_database();
    return 0;
}
