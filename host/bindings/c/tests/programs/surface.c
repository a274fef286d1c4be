/* Uses every part of the header. */
#define _GNU_SOURCE
#include "common.h"

static char text[65536];

/* Answers at once. */
static void on_ask(void *user, pw_event *event, pw_answer *answer) {
    CHECK(is(pw_event_name(event), "ask") && is(pw_event_data(event), "said"));
    CHECK(is(pw_event_content_type(event), "application/json") && pw_event_request_id(event).size > 0);
    CHECK(pw_event_id(event).size > 0 && pw_event_attempt(event) == 1 && pw_event_attempt(NULL) == 0);
    CHECK(pw_event_take_request(event) == NULL && !pw_answer_is_cancelled(answer));
    char json[64];
    snprintf(json, sizeof json, "\"%s\"", (const char *)user);
    OK(pw_answer_json(answer, json));
    FAILS(pw_answer_json(answer, "null"), PW_ERROR_KIND_REFUSED, "answered before");
    pw_answer_free(answer);
}

/* Answers later, from a thread of its own. */
static void *answer_later(void *answer) {
    usleep(10000);
    OK(pw_answer_payload(answer, "application/json", bytes("\"late\"")));
    pw_answer_free(answer);
    return NULL;
}

static void on_late(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answer_later, answer) == 0);
    pthread_detach(thread);
}

/* Fails at the first attempt. */
static void on_durable(void *user, pw_event *event, pw_answer *answer) {
    CHECK(is(pw_event_id(event), "mail:order:7"));
    if (pw_event_attempt(event) == 1) {
        pw_reply *reply = NULL;
        OK(pw_reply_new(503, &reply));
        OK(pw_answer_fail_with(answer, reply, "later", "later", NULL));
    } else {
        CHECK(pw_event_attempt(event) == 2);
        OK(pw_answer_json(answer, "null"));
        signal_give(user);
    }
    pw_answer_free(answer);
}

static pw_error *fail_with(pw_answer *answer, const char *details) {
    pw_reply *reply = NULL;
    OK(pw_reply_new(404, &reply));
    OK(pw_reply_add_header(reply, "x-hint", "8"));
    return pw_answer_fail_with(answer, reply, "no-such-product", "no such product", details);
}

static void on_failing(void *user, pw_event *event, pw_answer *answer) {
    (void)user;
    if (is(pw_event_data(event), "\"crash\""))
        OK(pw_answer_crash(answer, "the database is gone (db.c:7)"));
    else
        OK(fail_with(answer, "{\"id\": 7}"));
    pw_answer_free(answer);
}

/* Takes over a request that a module handed over. */
static void on_take(void *user, pw_event *event, pw_answer *answer) {
    (void)user;
    pw_request *request = pw_event_take_request(event);
    CHECK(request != NULL && is(pw_request_path(request), "/hand"));
    OK(pw_answer_json(answer, "null"));
    pw_answer_free(answer);
    pw_reply *reply = NULL;
    OK(pw_reply_new(202, &reply));
    OK(pw_reply_set_body(reply, bytes("taken over")));
    OK(pw_request_send(request, reply));
    pw_request_is_cancelled(request);
    pw_request_free(request);
}

static void on_server(void *seen, pw_event *event, pw_answer *answer) {
    pw_bytes crash = pw_event_data(event);
    CHECK(memmem(crash.data, crash.size, "the database is gone", 20) != NULL);
    OK(pw_answer_json(answer, "null"));
    pw_answer_free(answer);
    signal_give(seen);
}

static int chunks_left;

static void on_chunk(void *user, pw_next *chunk) {
    (void)user;
    if (chunks_left-- > 0)
        pw_chunk_data(chunk, bytes("chunk;"));
    else
        pw_chunk_end(chunk);
}

static void on_broken_chunk(void *user, pw_next *chunk) {
    (void)user;
    pw_chunk_break(chunk, "the disk is gone");
}

static void on_hello(void *user, pw_request *request, pw_answer *answer) {
    (void)user;
    pw_header header;
    CHECK(is(pw_request_method(request), "POST") && is(pw_request_path(request), "/hello/Ada"));
    CHECK(is(pw_request_query(request), "a=b") && is(pw_request_route(request), "/hello/:name"));
    CHECK(is(pw_request_param(request, "name"), "Ada") && pw_request_param(request, "none").data == NULL);
    CHECK(is(pw_request_header(request, "HOST"), "localhost") && pw_request_header(request, "none").data == NULL);
    CHECK(pw_request_header_at(request, 0, &header) && !pw_request_header_at(request, 9, &header));
    CHECK(is(pw_request_remote_address(request), "192.0.2.7:4711") && pw_request_id(request).size > 0);
    CHECK(is(pw_request_header(request, "x-name"), "caf\xe9"));
    char body_text[64];
    pw_body *body = NULL;
    OK(pw_request_body(request, &body));
    read_body(body, body_text, sizeof body_text);
    CHECK(strcmp(body_text, "there") == 0);
    FAILS(pw_request_body(request, &body), PW_ERROR_KIND_REFUSED, "taken before");
    pw_caller *caller = NULL;
    OK(pw_request_caller(request, &caller));
    OK(pw_caller_emit(caller, "db:seen", "application/json", bytes("1")));
    pw_caller_free(caller);
    pw_reply *reply = NULL;
    OK(pw_reply_new(201, &reply));
    OK(pw_reply_add_header(reply, "location", "/hello/7"));
    chunks_left = 3;
    OK(pw_reply_set_source(reply, on_chunk, NULL, NULL, -1));
    OK(pw_answer_reply(answer, reply));
    pw_answer_free(answer);
    pw_request_free(request);
}

static void on_deferred(void *user, pw_request *request, pw_answer *answer) {
    (void)user;
    OK(pw_answer_defer(answer));
    pw_answer_free(answer);
    pw_reply *reply = NULL;
    OK(pw_reply_new(200, &reply));
    OK(pw_reply_set_source(reply, on_broken_chunk, NULL, NULL, -1));
    OK(pw_request_send(request, reply));
    pw_request_free(request);
}

/* Passes the failure of a call on to the client. */
static void on_calls(void *event, pw_request *request, pw_answer *answer) {
    pw_caller *caller = NULL;
    pw_payload *payload = NULL;
    OK(pw_request_caller(request, &caller));
    pw_error *failure = pw_caller_call(caller, event, "application/json", bytes("1"), 0, &payload, NULL, NULL);
    CHECK(failure && pw_error_kind_of(failure) == PW_ERROR_KIND_FAILED);
    OK(pw_answer_fail(answer, pw_error_status(failure), pw_error_code(failure), pw_error_message(failure)));
    pw_error_free(failure);
    pw_caller_free(caller);
    pw_answer_free(answer);
    pw_request_free(request);
}

static void on_picky(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    OK(pw_answer_fail(answer, 400, "bad-payload", "the payload has no field `id`"));
    pw_answer_free(answer);
}

/* A mistake between a callback and a channel is none of the client's business. What a listener raises on purpose passes. */
static void mistakes(pw_app *app) {
    const char *internal = "{\"message\":\"internal error\"}";
    OK(pw_app_listen(app, "db", "picky", PW_RUNS_INLINE, on_picky, NULL, NULL));
    OK(pw_app_route(app, "GET", "/wrong", PW_BODY_NONE, PW_RUNS_BLOCKING, on_calls, "db:picky", NULL));
    OK(pw_app_route(app, "GET", "/unknown", PW_BODY_NONE, PW_RUNS_BLOCKING, on_calls, "db:nobody", NULL));
    OK(pw_app_route(app, "GET", "/missing", PW_BODY_NONE, PW_RUNS_BLOCKING, on_calls, "db:failing", NULL));
    CHECK(get(app, "/wrong", text, sizeof text) == 500 && strcmp(text, internal) == 0);
    CHECK(get(app, "/unknown", text, sizeof text) == 500 && strcmp(text, internal) == 0);
    CHECK(get(app, "/missing", text, sizeof text) == 404 && strcmp(text, "{\"message\":\"no such product\"}") == 0);
}

static void on_seen(void *seen, pw_event *event, pw_answer *answer) {
    (void)event;
    OK(pw_answer_json(answer, "null"));
    pw_answer_free(answer);
    signal_give(seen);
}

static void on_payload(void *called, pw_error *error, pw_payload *payload) {
    OK(error);
    CHECK(is(pw_payload_data(payload), "\"late\"") && is(pw_payload_content_type(payload), "application/json"));
    pw_payload_free(payload);
    signal_give(called);
}

static void on_reply(void *replied, pw_reply *reply) {
    char reply_text[64];
    CHECK(read_reply(reply, reply_text, sizeof reply_text) == 200 && strcmp(reply_text, "\"late\"") == 0);
    signal_give(replied);
}

/* Takes what a busy machine did not answer at once. */
static void on_any(void *answered, pw_reply *reply) {
    pw_reply_free(reply);
    signal_give(answered);
}

static void on_cancelled(void *cancelled, pw_reply *reply) {
    CHECK(reply == NULL);
    signal_give(cancelled);
}

static void on_never(void *kept, pw_event *event, pw_answer *answer) {
    (void)event;
    __atomic_store_n((pw_answer **)kept, answer, __ATOMIC_RELEASE);
}

static void on_log(void *lines, pw_level level, const char *target, const char *line) {
    CHECK(level >= PW_LEVEL_ERROR && level <= PW_LEVEL_INFO && strlen(target) > 0 && strlen(line) > 0);
    __atomic_fetch_add((int *)lines, 1, __ATOMIC_RELAXED);
}

static signal_t dropped;

static void modules_and_events(pw_app *app) {
    /* Routes emit later, too. */
    static signal_t seen, called, crashed;
    signal_init(&seen), signal_init(&called), signal_init(&crashed);
    OK(pw_app_listen(app, "db", "ask", PW_RUNS_INLINE, on_ask, "heard", NULL));
    OK(pw_app_listen(app, "db", "late", PW_RUNS_INLINE, on_late, NULL, NULL));
    OK(pw_app_listen(app, "db", "failing", PW_RUNS_BLOCKING, on_failing, NULL, NULL));
    OK(pw_app_listen(app, "db", "take", PW_RUNS_INLINE, on_take, &dropped, signal_give));
    OK(pw_app_listen(app, "db", "seen", PW_RUNS_INLINE, on_seen, &seen, NULL));
    OK(pw_app_listen(app, "server", "crashed", PW_RUNS_INLINE, on_server, &crashed, NULL));
    FAILS(pw_app_listen(app, "db", "ask", PW_RUNS_INLINE, on_ask, &dropped, signal_give), PW_ERROR_KIND_REFUSED, "ask");
    signal_wait(&dropped, 1);

    OK(pw_app_load_file(app, "shop", component("one"), "{\"memory\": \"2MiB\"}", NULL, NULL));
    CHECK(get(app, "/plain", text, sizeof text) == 200 && strcmp(text, "one") == 0);
    signal_t swapped;
    signal_init(&swapped);
    OK(pw_app_swap_file(app, "shop", component("two"), NULL, done, &swapped));
    signal_wait(&swapped, 1);
    CHECK(get(app, "/plain", text, sizeof text) == 200 && strcmp(text, "two") == 0);
    OK(pw_app_roll_back(app, "shop", NULL, NULL));
    CHECK(get(app, "/plain", text, sizeof text) == 200 && strcmp(text, "one") == 0);
    char *json = NULL;
    OK(pw_app_routes(app, &json));
    CHECK(strstr(json, "\"/plain\"") != NULL);
    pw_text_free(json);
    OK(pw_app_modules(app, &json));
    CHECK(strstr(json, "\"name\":\"shop\"") != NULL);
    pw_text_free(json);

    CHECK(get(app, "/ask", text, sizeof text) == 200 && strcmp(text, "\"heard\"") == 0);
    CHECK(get(app, "/hand", text, sizeof text) == 202 && strcmp(text, "taken over") == 0);
    pw_caller *caller = NULL;
    pw_payload *payload = NULL;
    OK(pw_app_caller(app, &caller));
    pw_error *failure = pw_caller_call(caller, "db:failing", "application/json", bytes("1"), 0, &payload, NULL, NULL);
    CHECK(failure && pw_error_kind_of(failure) == PW_ERROR_KIND_FAILED && pw_error_status(failure) == 404);
    CHECK(strcmp(pw_error_code(failure), "no-such-product") == 0);
    CHECK(strcmp(pw_error_message(failure), "no such product") == 0);
    CHECK(strcmp(pw_error_details(failure), "{\"id\":7}") == 0);
    pw_header hint;
    CHECK(pw_error_header_at(failure, 0, &hint) && is(hint.name, "x-hint") && is(hint.value, "8"));
    CHECK(!pw_error_header_at(failure, 1, &hint));
    pw_error_free(failure);
    FAILS(pw_caller_call(caller, "db:failing", "application/json", bytes("\"crash\""), 0, &payload, NULL, NULL),
          PW_ERROR_KIND_FAILED, "raised an exception");
    signal_wait(&crashed, 1);
    OK(pw_caller_call(caller, "db:late", "application/json", bytes("1"), 0, NULL, on_payload, &called));
    signal_wait(&called, 1);
    OK(pw_caller_emit(caller, "db:seen", "application/json", bytes("1")));
    signal_wait(&seen, 1);
    pw_caller_free(caller);
}

static void routes_and_bodies(pw_app *app) {
    OK(pw_app_route(app, "POST", "/hello/:name", PW_BODY_WHOLE, PW_RUNS_INLINE, on_hello, NULL, NULL));
    OK(pw_app_route(app, NULL, "/deferred", PW_BODY_NONE, PW_RUNS_INLINE, on_deferred, NULL, NULL));
    pw_figures figures;
    OK(pw_app_figures(app, &figures));
    CHECK(figures.routes == 8 && figures.events_refused == 0);
    pw_request_builder *hello = request_of("POST", "/hello/Ada?a=b");
    OK(pw_request_builder_set_peer(hello, "192.0.2.7:4711", false));
    OK(pw_request_builder_set_version(hello, 11));
    OK(pw_request_builder_add_header(hello, "x-name", "caf\xe9"));
    OK(pw_request_builder_set_body(hello, bytes("there")));
    pw_reply *reply = NULL;
    pw_header header;
    OK(pw_app_handle(app, hello, 0, &reply));
    CHECK(is(pw_reply_header(reply, "Location"), "/hello/7") && pw_reply_header_at(reply, 0, &header));
    CHECK(read_reply(reply, text, sizeof text) == 201 && strcmp(text, "chunk;chunk;chunk;") == 0);

    pw_request_builder *echo = request_of("POST", "/echo");
    chunks_left = 1000;
    OK(pw_request_builder_set_source(echo, on_chunk, NULL, NULL, -1));
    OK(pw_app_handle(app, echo, 0, &reply));
    CHECK(read_reply(reply, text, sizeof text) == 200 && strlen(text) == 6000);

    pw_body *body = NULL;
    pw_bytes data;
    OK(pw_app_handle(app, request_of("PUT", "/deferred"), 0, &reply));
    OK(pw_reply_body(reply, &body));
    CHECK(pw_body_next(body, 0, &data, NULL, NULL) == PW_CHUNK_BROKEN);
    CHECK(strstr(pw_body_reason(body), "the disk is gone") != NULL);
    pw_body_free(body);
    pw_reply_free(reply);
    mistakes(app);
}

static void begun_and_mounted(pw_app *app) {
    signal_t replied;
    signal_init(&replied);
    pw_reply *reply = NULL;
    pw_in_flight *in_flight = NULL;
    OK(pw_app_begin(app, request_of("GET", "/plain"), &reply, &in_flight, on_any, &replied));
    if (reply) {
        CHECK(in_flight == NULL && read_reply(reply, text, sizeof text) == 200);
    } else {
        pw_in_flight_free(in_flight);
        signal_wait(&replied, 1);
    }
    pw_mount *in_front = NULL, *below = NULL;
    OK(pw_app_mount(app, PW_PLACE_IN_FRONT, NULL, &in_front));
    pw_request_builder *login = request_of("POST", "/login");
    CHECK(!pw_mount_accepts(in_front, login));
    OK(pw_mount_handle(in_front, login, 0, &reply));
    CHECK(reply == NULL);
    OK(pw_mount_handle(in_front, request_of("GET", "/plain"), 0, &reply));
    CHECK(read_reply(reply, text, sizeof text) == 200);
    pw_request_builder *plain = request_of("GET", "/plain");
    CHECK(pw_mount_accepts(in_front, plain));
    OK(pw_app_remove(app, "shop", NULL, NULL));
    OK(pw_mount_handle(in_front, plain, 0, &reply));
    CHECK(reply && read_reply(reply, text, sizeof text) == 200);
    OK(pw_mount_handle(in_front, request_of("GET", "/plain"), 0, &reply));
    CHECK(reply == NULL);
    OK(pw_app_load_file(app, "shop", component("one"), "{\"memory\": \"2MiB\"}", NULL, NULL));
    pw_mount_free(in_front);
    OK(pw_app_mount(app, PW_PLACE_BELOW, "/api", &below));
    OK(pw_mount_begin(below, request_of("GET", "/other"), &reply, &in_flight, on_cancelled, NULL));
    CHECK(reply == NULL && in_flight == NULL);
    OK(pw_mount_begin(below, request_of("GET", "/api/none"), &reply, &in_flight, on_cancelled, NULL));
    CHECK(read_reply(reply, text, sizeof text) == 404);
    pw_mount_free(below);
}

static void waited_for_and_cancelled(void) {
    signal_t replied, cancelled;
    signal_init(&replied), signal_init(&cancelled);
    pw_reply *reply = NULL;
    pw_in_flight *in_flight = NULL;
    pw_app *other = start("{\"cache\": {\"enabled\": true}}");
    OK(pw_app_listen(other, "db", "ask", PW_RUNS_INLINE, on_late, NULL, NULL));
    OK(pw_app_load_file(other, "shop", component("one"), NULL, NULL, NULL));
    OK(pw_app_begin(other, request_of("GET", "/ask"), &reply, &in_flight, on_reply, &replied));
    CHECK(reply == NULL && in_flight != NULL);
    pw_in_flight_free(in_flight);
    signal_wait(&replied, 1);
    OK(pw_app_close(other, 0, NULL, NULL));
    pw_app_free(other);

    pw_answer *kept = NULL;
    other = start(NULL);
    OK(pw_app_listen(other, "db", "ask", PW_RUNS_INLINE, on_never, &kept, NULL));
    OK(pw_app_load_file(other, "shop", component("one"), NULL, NULL, NULL));
    OK(pw_app_begin(other, request_of("GET", "/ask"), &reply, &in_flight, on_cancelled, &cancelled));
    // A guest that used up its slice calls the function, and is dropped, on another thread.
    for (int left = 10000; left > 0 && __atomic_load_n(&kept, __ATOMIC_ACQUIRE) == NULL; left--)
        usleep(1000);
    pw_in_flight_cancel(in_flight);
    signal_wait(&cancelled, 1);
    pw_in_flight_free(in_flight);
    for (int left = 10000; left > 0 && !pw_answer_is_cancelled(kept); left--)
        usleep(1000);
    FAILS(pw_answer_json(kept, "null"), PW_ERROR_KIND_CLOSED, "nobody waits");
    pw_answer_free(kept);
    signal_t closed;
    signal_init(&closed);
    OK(pw_app_close(other, 0, done, &closed));
    signal_wait(&closed, 1);
    pw_app_free(other);
}

static void served(pw_app *app) {
    pw_server *server = NULL;
    signal_t stopped;
    signal_init(&stopped);
    OK(pw_app_serve(app, "127.0.0.1:0", &server));
    CHECK(strncmp(pw_server_address(server), "127.0.0.1:", 10) == 0);
    char command[128];
    snprintf(command, sizeof command, "curl -s http://%s/plain", pw_server_address(server));
    FILE *curl = popen(command, "r");
    CHECK(curl != NULL && fgets(text, sizeof text, curl) != NULL && strcmp(text, "one") == 0);
    CHECK(pclose(curl) == 0);
    pw_server *taken = NULL;
    FAILS(pw_app_serve(app, pw_server_address(server), &taken), PW_ERROR_KIND_HOST, "is in use");
    OK(pw_server_stop(server, 0, done, &stopped));
    signal_wait(&stopped, 1);
    pw_server_free(server);
}

/* An event of a durable channel is delivered again, with its id. */
static void durable_events(void) {
    char folder[] = "/tmp/pw-durable-XXXXXX", settings[300];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(settings, sizeof settings,
             "{\"journal\": {\"path\": \"%s/events.sqlite\"}, \"durable\": {\"mail\": {\"store\": \"sqlite\", "
             "\"id\": \"/id\", \"backoff\": [\"5ms\"]}}}",
             folder);
    pw_app *app = start(settings);
    static signal_t delivered;
    signal_init(&delivered);
    OK(pw_app_listen(app, "mail", "order", PW_RUNS_INLINE, on_durable, &delivered, NULL));
    pw_caller *caller = NULL;
    OK(pw_app_caller(app, &caller));
    OK(pw_caller_emit(caller, "mail:order", "application/json", bytes("{\"id\": 7}")));
    signal_wait(&delivered, 1);
    pw_caller_free(caller);
    OK(pw_app_close(app, 0, NULL, NULL));
    pw_app_free(app);
    for (int i = 0; i < 3; i++) {
        const char *const ends[] = {"", "-wal", "-shm"};
        char file[300];
        snprintf(file, sizeof file, "%s/events.sqlite%s", folder, ends[i]);
        unlink(file);
    }
    rmdir(folder);
}

int main(int count, char **arguments) {
    (void)arguments;
    static int lines;
    signal_init(&dropped);
    CHECK(pw_abi_version() == PW_ABI_VERSION && strcmp(pw_version(), PW_VERSION) == 0);
    CHECK(strncmp(PW_VERSION, "0.2.", 4) == 0 && PW_VERSION_MAJOR == 0 && PW_VERSION_MINOR == 2);
    CHECK(strcmp(pw_error_kind_name(PW_ERROR_KIND_TIMED_OUT), "timed-out") == 0);
    CHECK(strcmp(pw_error_kind_name(PW_ERROR_KIND_ARGUMENT), "argument") == 0);
    CHECK(strcmp(pw_error_kind_name(99), "unknown") == 0);
    OK(pw_log(PW_LEVEL_INFO, on_log, &lines));
    FAILS(pw_log(PW_LEVEL_INFO, on_log, &lines), PW_ERROR_KIND_REFUSED, "a writer already");
    pw_app *app = start("{\"limits\": {\"memory\": \"4MiB\", \"max-memory\": \"4MiB\", \"max-instances\": 3}}");
    modules_and_events(app);
    routes_and_bodies(app);
    begun_and_mounted(app);
    durable_events();
    if (count == 1) {
        waited_for_and_cancelled();
        served(app);
    }
    OK(pw_app_remove(app, "shop", NULL, NULL));
    CHECK(get(app, "/plain", text, sizeof text) == 404);
    OK(pw_app_close(app, 0, NULL, NULL));
    pw_app_free(app);
    signal_wait(&dropped, 2);
    CHECK(__atomic_load_n(&lines, __ATOMIC_RELAXED) > 0);
    puts("the surface works");
    return 0;
}
