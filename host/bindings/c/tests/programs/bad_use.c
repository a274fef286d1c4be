/* Misuses the library in the way that the argument names. Each way has to end in a clear error, and never in a crash. */
#define _GNU_SOURCE
#include "common.h"
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

static char text[4096];
static pw_answer *kept;
static signal_t given;

static void on_keep(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    kept = answer;
    signal_give(&given);
}

/* An answer that is given in time is not gone. */
static void not_gone(void *user) {
    (void)user;
    CHECK(0);
}

static void on_watched(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    signal_init(&given);
    OK(pw_answer_when_gone(answer, not_gone, &given, signal_give));
    OK(pw_answer_json(answer, "1"));
    pw_answer_free(answer);
}

static void on_drop(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    pw_answer_free(answer);
}

static void on_twice(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    /* What is refused answers nothing. */
    FAILS(pw_answer_json(answer, ""), PW_ERROR_KIND_ARGUMENT, "`json` is invalid, expected JSON");
    FAILS(pw_answer_json(answer, "{\"a\": }"), PW_ERROR_KIND_ARGUMENT, "line 1 column 7");
    FAILS(pw_answer_json(answer, "1 2"), PW_ERROR_KIND_ARGUMENT, "trailing characters");
    FAILS(pw_answer_payload(answer, "", bytes("1")), PW_ERROR_KIND_ARGUMENT, "`content_type`");
    FAILS(pw_answer_payload(answer, "text/plain\r\nx: y", bytes("1")), PW_ERROR_KIND_ARGUMENT, "control characters");
    OK(pw_answer_json(answer, "1"));
    FAILS(pw_answer_json(answer, "2"), PW_ERROR_KIND_REFUSED, "answered before");
    FAILS(pw_answer_crash(answer, "3"), PW_ERROR_KIND_REFUSED, "answered before");
    FAILS(pw_answer_fail(answer, 200, NULL, "4"), PW_ERROR_KIND_ARGUMENT, "400 to 599");
    pw_reply *reply = NULL;
    OK(pw_reply_new(200, &reply));
    FAILS(pw_answer_reply(answer, reply), PW_ERROR_KIND_ARGUMENT, "an event is answered with a payload");
    pw_answer_free(answer);
}

static pw_app *asked;

static void on_ask_again(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    pw_reply *reply = NULL;
    pw_error *error = pw_app_handle(asked, request_of("GET", "/ask"), 0, &reply);
    if (error) {
        CHECK(pw_error_kind_of(error) == PW_ERROR_KIND_NESTED);
        signal_give(&given);
        pw_error_free(error);
    } else {
        CHECK(pw_reply_status(reply) == 200);
        pw_reply_free(reply);
    }
    OK(pw_answer_json(answer, "1"));
    pw_answer_free(answer);
}

static pw_app *shop_on(pw_runs runs, const char *settings, pw_on_event callback) {
    pw_app *app = start(settings);
    OK(pw_app_listen(app, "db", "ask", runs, callback, NULL, NULL));
    OK(pw_app_load_file(app, "shop", component("one"), NULL, NULL, NULL));
    return app;
}

static pw_app *shop(const char *settings, pw_on_event callback) {
    return shop_on(PW_RUNS_INLINE, settings, callback);
}

static void null_arguments(void) {
    pw_app *app = start(NULL);
    pw_bytes none = {NULL, 3};
    pw_reply *reply = NULL;
    FAILS(pw_app_start(PW_ABI_VERSION, NULL, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    FAILS(pw_app_load(NULL, "shop", none, NULL, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    FAILS(pw_app_load(app, NULL, none, NULL, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "`name` is NULL");
    FAILS(pw_app_load(app, "shop", none, NULL, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "`component` is NULL");
    FAILS(pw_app_handle(app, NULL, 0, &reply), PW_ERROR_KIND_ARGUMENT, "`builder` is NULL");
    FAILS(pw_app_handle(app, request_of("GET", "/"), 0, NULL), PW_ERROR_KIND_ARGUMENT, "`reply` is NULL");
    FAILS(pw_app_listen(app, "db", "ask", PW_RUNS_INLINE, NULL, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "`callback` is NULL");
    FAILS(pw_answer_json(NULL, "1"), PW_ERROR_KIND_ARGUMENT, "`answer` is NULL");
    FAILS(pw_app_serve(app, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "is NULL");
    CHECK(pw_request_method(NULL).size == 0 && pw_reply_status(NULL) == 0);
    CHECK(pw_body_next(NULL, 0, NULL, NULL, NULL) == PW_CHUNK_BROKEN && pw_error_kind_of(NULL) == PW_ERROR_KIND_ARGUMENT);
    pw_app_free(NULL), pw_reply_free(NULL), pw_error_free(NULL), pw_text_free(NULL), pw_answer_free(NULL);
    pw_body_free(NULL), pw_request_free(NULL), pw_request_builder_free(NULL), pw_server_free(NULL), pw_mount_free(NULL);
    pw_chunk_end(NULL), pw_in_flight_cancel(NULL), pw_in_flight_free(NULL), pw_caller_free(NULL), pw_payload_free(NULL);
    end(app);
}

static void on_end(void *user, pw_reply *reply) {
    if (reply)
        CHECK(pw_reply_status(reply) == 503);
    pw_reply_free(reply);
    signal_give(user);
}

/* Something that is no result, to be overwritten. */
static void *const STALE = (void *)0x10;

static void results_of_what_failed(void) {
    pw_app *app = STALE, *none = NULL;
    FAILS(pw_app_start(PW_ABI_VERSION, "{\"limit\": 1}", NULL, &app), PW_ERROR_KIND_SETTINGS, "limit");
    CHECK(app == NULL);
    pw_request_builder *new = STALE;
    FAILS(pw_request_builder_new("GE T", "/", &new), PW_ERROR_KIND_ARGUMENT, "`method`");
    CHECK(new == NULL);
    pw_reply *reply = STALE;
    FAILS(pw_reply_new(7, &reply), PW_ERROR_KIND_ARGUMENT, "`status`");
    CHECK(reply == NULL);
    reply = STALE;
    FAILS(pw_app_handle(none, request_of("GET", "/"), 0, &reply), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    CHECK(reply == NULL);
    reply = STALE;
    FAILS(pw_mount_handle(NULL, request_of("GET", "/"), 0, &reply), PW_ERROR_KIND_ARGUMENT, "`mount` is NULL");
    CHECK(reply == NULL);
    reply = STALE;
    pw_in_flight *in_flight = STALE;
    FAILS(pw_app_begin(none, request_of("GET", "/"), &reply, &in_flight, on_end, NULL), PW_ERROR_KIND_ARGUMENT, "is NULL");
    CHECK(reply == NULL && in_flight == NULL);
    in_flight = STALE;
    FAILS(pw_mount_begin(NULL, request_of("GET", "/"), NULL, &in_flight, on_end, NULL), PW_ERROR_KIND_ARGUMENT, "is NULL");
    CHECK(in_flight == NULL);
    pw_mount *mount = STALE;
    FAILS(pw_app_mount(none, PW_PLACE_EVERYTHING, NULL, &mount), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    pw_server *server = STALE;
    FAILS(pw_app_serve(none, "127.0.0.1:0", &server), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    pw_caller *caller = STALE;
    FAILS(pw_app_caller(none, &caller), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    CHECK(mount == NULL && server == NULL && caller == NULL);
    caller = STALE;
    FAILS(pw_event_caller(NULL, &caller), PW_ERROR_KIND_ARGUMENT, "`event` is NULL");
    CHECK(caller == NULL);
    caller = STALE;
    pw_body *body = STALE;
    FAILS(pw_request_caller(NULL, &caller), PW_ERROR_KIND_ARGUMENT, "`request` is NULL");
    FAILS(pw_request_body(NULL, &body), PW_ERROR_KIND_ARGUMENT, "`request` is NULL");
    CHECK(caller == NULL && body == NULL);
    body = STALE;
    OK(pw_reply_new(200, &reply));
    FAILS(pw_reply_body(reply, &body), PW_ERROR_KIND_ARGUMENT, "`reply`");
    CHECK(body == NULL);
    pw_reply_free(reply);
    char *json = STALE;
    pw_figures figures = {7, 7, 7};
    FAILS(pw_app_routes(none, &json), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    FAILS(pw_app_figures(none, &figures), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    CHECK(json == NULL && figures.routes == 0 && figures.events_refused == 0);
    json = STALE;
    FAILS(pw_app_modules(none, &json), PW_ERROR_KIND_ARGUMENT, "`app` is NULL");
    CHECK(json == NULL);
    pw_payload *payload = STALE;
    pw_bytes data = {STALE, 7};
    pw_header header = {data, data};
    FAILS(pw_caller_call(NULL, "db:ask", "text/plain", data, 0, &payload, NULL, NULL), PW_ERROR_KIND_ARGUMENT,
          "`caller` is NULL");
    CHECK(pw_body_next(NULL, 0, &data, NULL, NULL) == PW_CHUNK_BROKEN);
    CHECK(!pw_error_header_at(NULL, 0, &header) && header.name.data == NULL);
    CHECK(payload == NULL && data.data == NULL && data.size == 0);
}

static void wrong_values(void) {
    pw_app *app = NULL;
    FAILS(pw_app_start(PW_ABI_VERSION + 1, NULL, NULL, &app), PW_ERROR_KIND_ABI, "version 2 of the ABI, expected 1");
    FAILS(pw_app_start(PW_ABI_VERSION, "{\"limits\": {\"memory\": \"much\"}}", NULL, &app), PW_ERROR_KIND_SETTINGS, "limits.memory");
    FAILS(pw_app_start(PW_ABI_VERSION, "{\"limit\": 1}", NULL, &app), PW_ERROR_KIND_SETTINGS, "limit");
    FAILS(pw_app_start(PW_ABI_VERSION, "{", NULL, &app), PW_ERROR_KIND_SETTINGS, "");
    app = start(NULL);
    pw_bytes failed_read = {(const uint8_t *)"", (size_t)-1};
    FAILS(pw_app_load(app, "shop", failed_read, NULL, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "SSIZE_MAX");
    pw_request_builder *wrong = NULL;
    pw_reply *reply = NULL;
    pw_mount *mount = NULL;
    FAILS(pw_request_builder_new("GE T", "/", &wrong), PW_ERROR_KIND_ARGUMENT, "`method`");
    FAILS(pw_request_builder_new("GET", "/ /", &wrong), PW_ERROR_KIND_ARGUMENT, "`target`");
    FAILS(pw_request_builder_new("GET", "/\xff", &wrong), PW_ERROR_KIND_ARGUMENT, "UTF-8");
    pw_request_builder *right = request_of("GET", "/");
    FAILS(pw_request_builder_add_header(right, "na me", "x"), PW_ERROR_KIND_ARGUMENT, "`name`");
    FAILS(pw_request_builder_add_header(right, "name", "x\ny"), PW_ERROR_KIND_ARGUMENT, "`value`");
    FAILS(pw_request_builder_set_version(right, 30), PW_ERROR_KIND_ARGUMENT, "10, 11 or 20");
    FAILS(pw_request_builder_set_peer(right, "nowhere", false), PW_ERROR_KIND_ARGUMENT, "`address`");
    pw_request_builder_free(right);
    FAILS(pw_reply_new(7, &reply), PW_ERROR_KIND_ARGUMENT, "`status`");
    FAILS(pw_reply_new(100, &reply), PW_ERROR_KIND_ARGUMENT, "`status`");
    FAILS(pw_reply_new(600, &reply), PW_ERROR_KIND_ARGUMENT, "`status`");
    FAILS(pw_app_mount(app, 7, NULL, &mount), PW_ERROR_KIND_ARGUMENT, "`place`");
    FAILS(pw_app_mount(app, PW_PLACE_BELOW, NULL, &mount), PW_ERROR_KIND_ARGUMENT, "`prefix` is NULL");
    FAILS(pw_app_listen(app, "db", "ask", 7, on_keep, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "`runs`");
    FAILS(pw_app_listen(app, "db", "a b", PW_RUNS_INLINE, on_keep, NULL, NULL), PW_ERROR_KIND_REFUSED, "a b");
    FAILS(pw_app_set_prefix(app, "//"), PW_ERROR_KIND_REFUSED, "");
    FAILS(pw_app_load_file(app, "shop", "/nowhere.wasm", NULL, NULL, NULL), PW_ERROR_KIND_HOST, "/nowhere.wasm");
    FAILS(pw_app_load_file(app, "shop", component("one"), "{\"memori\": 1}", NULL, NULL), PW_ERROR_KIND_SETTINGS, "memori");
    FAILS(pw_app_roll_back(app, "shop", NULL, NULL), PW_ERROR_KIND_REFUSED, "shop");
    FAILS(pw_app_remove(app, "shop", NULL, NULL), PW_ERROR_KIND_REFUSED, "shop");
    end(app);
}

static void bytes_that_are_no_component(void) {
    pw_app *app = start(NULL);
    FAILS(pw_app_load(app, "shop", bytes("no component"), NULL, NULL, NULL), PW_ERROR_KIND_COMPONENT, "shop");
    OK(pw_app_load_file(app, "shop", component("one"), NULL, NULL, NULL));
    FAILS(pw_app_swap(app, "shop", bytes(""), NULL, NULL, NULL), PW_ERROR_KIND_COMPONENT, "shop");
    CHECK(get(app, "/plain", text, sizeof text) == 200);
    end(app);
}

static void an_answer_that_never_comes(void) {
    pw_app *app = shop("{\"limits\": {\"request-deadline\": \"300ms\"}}", on_drop);
    get(app, "/ask", text, sizeof text);
    CHECK(strstr(text, "crashed") != NULL);
    end(app);
    app = shop("{\"limits\": {\"request-deadline\": \"300ms\"}}", on_keep);
    CHECK(get(app, "/ask", text, sizeof text) == 504);
    /* The client may have its reply a moment before the callback learns of it. */
    for (int i = 0; i < 1000 && !pw_answer_is_cancelled(kept); i++)
        usleep(10000);
    CHECK(pw_answer_is_cancelled(kept));
    signal_t gone, freed;
    signal_init(&gone), signal_init(&freed);
    FAILS(pw_answer_when_gone(kept, NULL, &freed, signal_give), PW_ERROR_KIND_ARGUMENT, "`gone`");
    signal_wait(&freed, 1);
    OK(pw_answer_when_gone(kept, signal_give, &gone, NULL));
    signal_wait(&gone, 1);
    pw_answer_free(kept);
    end(app);
    app = shop(NULL, on_watched);
    CHECK(get(app, "/ask", text, sizeof text) == 200);
    signal_wait(&given, 1);
    end(app);
}

static void a_second_answer(void) {
    pw_app *app = shop(NULL, on_twice);
    CHECK(get(app, "/ask", text, sizeof text) == 200 && strcmp(text, "1") == 0);
    end(app);
}

static void an_answer_after_the_close(void) {
    pw_app *app = shop("{\"limits\": {\"shutdown-grace\": \"100ms\"}}", on_keep);
    pw_reply *reply = NULL;
    pw_in_flight *in_flight = NULL;
    signal_t ended;
    signal_init(&ended);
    OK(pw_app_begin(app, request_of("GET", "/ask"), &reply, &in_flight, on_end, &ended));
    signal_wait(&given, 1);
    end(app);
    signal_wait(&ended, 1);
    FAILS(pw_answer_json(kept, "1"), PW_ERROR_KIND_CLOSED, "nobody waits");
    pw_answer_free(kept);
    pw_in_flight_cancel(in_flight);
    pw_in_flight_free(in_flight);
}

static void a_callback_that_asks_again(void) {
    asked = shop_on(PW_RUNS_BLOCKING, NULL, on_ask_again);
    CHECK(get(asked, "/ask", text, sizeof text) == 200);
    signal_wait(&given, 1);
    end(asked);
}

static void on_close(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    OK(pw_app_close(asked, 0, NULL, NULL));
    /* Its request was cut, and whether somebody noticed so far is open. */
    pw_error_free(pw_answer_json(answer, "1"));
    pw_answer_free(answer);
    signal_give(&given);
}

/* It is not allowed, and ends all the same: requests are drained for a bounded time. */
static void a_callback_that_closes(void) {
    asked = shop("{\"limits\": {\"shutdown-grace\": \"100ms\"}}", on_close);
    CHECK(get(asked, "/ask", text, sizeof text) >= 500);
    signal_wait(&given, 1);
    pw_app_free(asked);
}

static void calls_after_the_close(void) {
    pw_app *app = shop(NULL, on_twice);
    pw_reply *reply = NULL;
    pw_server *server = NULL;
    signal_t called;
    signal_init(&called);
    OK(pw_app_close(app, 0, NULL, NULL));
    OK(pw_app_close(app, 0, NULL, NULL));
    OK(pw_app_handle(app, request_of("GET", "/plain"), 0, &reply));
    CHECK(pw_reply_status(reply) == 503);
    pw_reply_free(reply);
    FAILS(pw_app_load_file(app, "late", component("one"), NULL, NULL, NULL), PW_ERROR_KIND_CLOSED, "closed");
    FAILS(pw_app_listen(app, "db", "late", PW_RUNS_INLINE, on_keep, NULL, NULL), PW_ERROR_KIND_CLOSED, "closed");
    FAILS(pw_app_serve(app, "127.0.0.1:0", &server), PW_ERROR_KIND_CLOSED, "closed");
    pw_app_free(app);
}

static void *answer_soon(void *unused) {
    usleep(200000);
    OK(pw_answer_json(kept, "\"drained\""));
    pw_answer_free(kept);
    return unused;
}

static void on_drained(void *user, pw_reply *reply) {
    CHECK(read_reply(reply, text, sizeof text) == 200 && strcmp(text, "\"drained\"") == 0);
    signal_give(user);
}

static void a_close_with_requests_in_flight(void) {
    pw_app *app = shop(NULL, on_keep);
    pw_reply *reply = NULL;
    pw_in_flight *in_flight = NULL;
    signal_t ended;
    pthread_t thread;
    signal_init(&ended);
    OK(pw_app_begin(app, request_of("GET", "/ask"), &reply, &in_flight, on_drained, &ended));
    pw_in_flight_free(in_flight);
    signal_wait(&given, 1);
    CHECK(pthread_create(&thread, NULL, answer_soon, NULL) == 0);
    end(app);
    signal_wait(&ended, 1);
    pthread_join(thread, NULL);
}

static void *ask_on(void *app) {
    for (;;)
        get(app, "/plain", (char[256]){0}, 256);
    return NULL;
}

static void an_end_without_a_close(void) {
    pw_app *app = shop(NULL, on_keep);
    pw_server *server = NULL;
    pthread_t thread;
    OK(pw_app_serve(app, "127.0.0.1:0", &server));
    CHECK(pthread_create(&thread, NULL, ask_on, app) == 0);
    usleep(50000);
}

static void two_applications(void) {
    pw_app *one = start(NULL), *two = start(NULL);
    OK(pw_app_load_file(one, "shop", component("one"), NULL, NULL, NULL));
    OK(pw_app_load_file(two, "shop", component("two"), NULL, NULL, NULL));
    CHECK(get(one, "/plain", text, sizeof text) == 200 && strcmp(text, "one") == 0);
    end(one);
    CHECK(get(two, "/plain", text, sizeof text) == 200 && strcmp(text, "two") == 0);
    end(two);
}

static int entries(const char *folder) {
    DIR *directory = opendir(folder);
    int count = 0;
    CHECK(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static int is_long(void) {
    const char *is_long = getenv("POINTWORK_LONG");
    return is_long && *is_long;
}

/* The memory of the process, in KiB. */
static long resident(void) {
    long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    CHECK(sizes != NULL && fscanf(sizes, "%*d %ld", &pages) == 1);
    fclose(sizes);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

/* 200 applications, or 10,000 in the long form. */
static void many_applications(void) {
    int number = is_long() ? 10000 : 200;
    for (int i = 0; i < 20; i++)
        end(shop(NULL, on_keep));
    int threads = entries("/proc/self/task"), descriptors = entries("/proc/self/fd");
    long memory = resident();
    for (int i = 0; i < number; i++) {
        pw_app *app = i % 20 == 0 ? shop(NULL, on_keep) : start(NULL);
        get(app, "/none", text, sizeof text);
        if (i % 2 == 0)
            OK(pw_app_close(app, 0, NULL, NULL));
        pw_app_free(app);
    }
    for (int i = 0; i < 6000 && (entries("/proc/self/task") > threads || entries("/proc/self/fd") > descriptors); i++)
        usleep(10000);
    int threads_now = entries("/proc/self/task"), descriptors_now = entries("/proc/self/fd");
    long memory_now = resident();
    printf("%d applications: %d to %d threads, %d to %d descriptors, %ld to %ld KiB\n", number, threads, threads_now,
           descriptors, descriptors_now, memory, memory_now);
    CHECK(threads_now <= threads && descriptors_now <= descriptors && memory_now - memory < 64 * 1024);
}

/* Keeps the request for a chunk, so that the body has no end. */
static void never(void *user, pw_next *chunk) {
    (void)chunk;
    signal_give(user);
}

static void on_endless(void *user, pw_request *request, pw_answer *answer) {
    pw_reply *reply = NULL;
    (void)user;
    OK(pw_reply_new(200, &reply));
    OK(pw_reply_set_source(reply, never, &given, NULL, -1));
    OK(pw_answer_reply(answer, reply));
    pw_answer_free(answer);
    pw_request_free(request);
}

static void a_fork_after_the_start(void) {
    pw_app *app = start(NULL);
    pw_caller *caller = NULL;
    pw_reply *streamed = NULL;
    pw_body *body = NULL;
    pw_bytes data;
    OK(pw_app_caller(app, &caller));
    FAILS(pw_caller_emit(caller, "db:seen", "a\nb", bytes("1")), PW_ERROR_KIND_ARGUMENT, "`content_type`");
    OK(pw_app_route(app, "GET", "/endless", PW_BODY_NONE, PW_RUNS_INLINE, on_endless, NULL, NULL));
    OK(pw_app_handle(app, request_of("GET", "/endless"), 0, &streamed));
    OK(pw_reply_body(streamed, &body));
    pid_t child = fork();
    if (child == 0) {
        pw_reply *reply = NULL;
        alarm(60);
        FAILS(pw_app_handle(app, request_of("GET", "/"), 0, &reply), PW_ERROR_KIND_FORKED, "forked");
        FAILS(pw_caller_emit(caller, "db:seen", "application/json", bytes("1")), PW_ERROR_KIND_FORKED, "forked");
        CHECK(pw_body_next(body, 0, &data, NULL, NULL) == PW_CHUNK_BROKEN && strstr(pw_body_reason(body), "forked"));
        FAILS(pw_app_close(app, 0, NULL, NULL), PW_ERROR_KIND_FORKED, "forked");
        FAILS(pw_app_close(app, 0, done, &given), PW_ERROR_KIND_FORKED, "forked");
        pw_caller_free(caller);
        pw_app_free(app);
        FAILS(pw_app_start(PW_ABI_VERSION, NULL, NULL, &app), PW_ERROR_KIND_FORKED, "the first application behind the fork");
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(get(app, "/", text, sizeof text) == 404);
    pw_body_free(body);
    pw_reply_free(streamed);
    pw_caller_free(caller);
    end(app);
}

static void *ask_everything(void *app) {
    char reply[1024];
    for (int i = 0; i < 10; i++) {
        CHECK(get(app, "/plain", reply, sizeof reply) == 200);
        CHECK(get(app, "/trap", reply, sizeof reply) == 500);
        CHECK(get(app, "/overflow", reply, sizeof reply) == 500);
    }
    return NULL;
}

static void *load_everything(void *app) {
    OK(pw_app_load_file(app, "shop", component("one"), NULL, NULL, NULL));
    return ask_everything(app);
}

static void a_thread_with_a_small_stack(void) {
    pw_app *app = start("{\"cache\": {\"enabled\": false}, \"limits\": {\"breaker\": {\"crashes\": 0}}}");
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    CHECK(pthread_attr_setstacksize(&small, 256 * 1024) == 0);
    CHECK(pthread_create(&thread, &small, load_everything, app) == 0);
    pthread_join(thread, NULL);
    end(app);
}

static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    signals++;
}

static void on_slow(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    for (int i = 0; i < 5; i++) {
        raise(SIGUSR1);
        usleep(2000);
    }
    OK(pw_answer_json(answer, "1"));
    pw_answer_free(answer);
}

static void a_signal_in_a_callback(void) {
    pw_app *app = shop(NULL, on_slow);
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 5; i++)
        CHECK(get(app, "/ask", text, sizeof text) == 200);
    CHECK(signals == 25);
    end(app);
}

static __thread sigjmp_buf after_fault;
static __thread int expects_fault;

/* The program's own handler, for its own faults. */
static void on_fault(int number) {
    if (!expects_fault) {
        signal(number, SIG_DFL);
        return;
    }
    siglongjmp(after_fault, 1);
}

static void *fault_in_turn(void *app) {
    char reply[1024];
    time_t until = time(NULL) + 60;
    for (int i = 0; i < 20 || (is_long() && time(NULL) < until); i++) {
        CHECK(get(app, "/trap", reply, sizeof reply) == 500);
        if (sigsetjmp(after_fault, 1) == 0) {
            expects_fault = 1;
            *(volatile int *)NULL = 1;
        }
        expects_fault = 0;
        CHECK(get(app, "/overflow", reply, sizeof reply) == 500);
        volatile int zero = 0;
        if (sigsetjmp(after_fault, 1) == 0) {
            expects_fault = 1;
            zero = 1 / zero;
        }
        expects_fault = 0;
        CHECK(get(app, "/plain", reply, sizeof reply) == 200);
    }
    return NULL;
}

static void guests_that_trap_in_turn_with_the_program(void) {
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER | SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    pw_app *app = shop("{\"limits\": {\"breaker\": {\"crashes\": 0}}}", on_twice);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, fault_in_turn, app) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    end(app);
}

static const way ways[] = {
    WAY(null_arguments),
    WAY(results_of_what_failed),
    WAY(wrong_values),
    WAY(bytes_that_are_no_component),
    WAY(an_answer_that_never_comes),
    WAY(a_second_answer),
    WAY(an_answer_after_the_close),
    WAY(a_callback_that_asks_again),
    WAY(a_callback_that_closes),
    WAY(calls_after_the_close),
    WAY(a_close_with_requests_in_flight),
    WAY(an_end_without_a_close),
    WAY(two_applications),
    WAY(many_applications),
    WAY(a_fork_after_the_start),
    WAY(a_thread_with_a_small_stack),
    WAY(a_signal_in_a_callback),
    WAY(guests_that_trap_in_turn_with_the_program),
};

int main(int count, char **arguments) {
    signal_init(&given);
    return run_way(ways, sizeof ways / sizeof *ways, count, arguments);
}
