/* Uses the library as programs do that have signals, threads and an end of their own. The argument names the way. */
#define _GNU_SOURCE
#include "common.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char text[4096];
static pw_app *app;
static pw_caller *caller;
static signal_t given;

static void on_answer(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    OK(pw_answer_json(answer, "1"));
    pw_answer_free(answer);
}

static pw_app *shop(const char *settings, pw_runs runs, pw_on_event callback) {
    app = start(settings);
    OK(pw_app_listen(app, "db", "ask", runs, callback, NULL, NULL));
    OK(pw_app_load_file(app, "shop", component("one"), NULL, NULL, NULL));
    return app;
}

/* The threads of the process that are not at their end, with that beginning of their names. */
static int threads_named(const char *name) {
    DIR *tasks = opendir("/proc/self/task");
    int alive = 0;
    CHECK(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], line[1024];
        unsigned flags;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *stat = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!stat)
            continue;
        /* A thread that was joined may still be listed, with the flag PF_EXITING. */
        if (fgets(line, sizeof line, stat) && sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1)
            alive += !(flags & 4) && strncmp(strchr(line, '(') + 1, name, strlen(name)) == 0;
        fclose(stat);
    }
    closedir(tasks);
    return alive;
}

static int threads_alive(void) {
    return threads_named("");
}

/* Signals */

static void *ask_for_traps(void *unused) {
    for (int i = 0; i < 5; i++) {
        char reply[1024];
        CHECK(get(app, "/trap", reply, sizeof reply) == 500);
        CHECK(get(app, "/overflow", reply, sizeof reply) == 500);
    }
    return unused;
}

/* The status of a reply of the built-in server. */
static int fetch(const pw_server *server, const char *path) {
    char command[256];
    int status = 0;
    snprintf(command, sizeof command, "curl -s -o /dev/null -w '%%{http_code}' http://%s%s", pw_server_address(server),
             path);
    FILE *curl = popen(command, "r");
    CHECK(curl != NULL && fscanf(curl, "%d", &status) == 1);
    pclose(curl);
    return status;
}

/* A program that waits for its signals blocks them in all threads, before there is a second one. */
static void blocks_all_signals(void) {
    sigset_t all;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
}

static void signals_that_are_waited_for(void) {
    pw_server *server = NULL;
    pthread_t thread;
    sigset_t terminates;
    int number = 0;
    blocks_all_signals();
    shop("{\"limits\": {\"breaker\": {\"crashes\": 0}}}", PW_RUNS_INLINE, on_answer);
    OK(pw_app_serve(app, "127.0.0.1:0", &server));
    CHECK(pthread_create(&thread, NULL, ask_for_traps, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(fetch(server, "/trap") == 500 && fetch(server, "/overflow") == 500 && fetch(server, "/plain") == 200);
    CHECK(kill(getpid(), SIGTERM) == 0);
    sigemptyset(&terminates);
    sigaddset(&terminates, SIGTERM);
    CHECK(sigwait(&terminates, &number) == 0 && number == SIGTERM);
    pw_server_free(server);
    end(app);
}

/* Destructors of callbacks */

static void use_the_application(void *dropped) {
    pw_figures figures;
    OK(pw_app_figures(app, &figures));
    OK(pw_app_listen(app, "dropped", *(int *)dropped ? "again" : "once", PW_RUNS_INLINE, on_answer, NULL, NULL));
    ++*(int *)dropped;
    signal_give(&given);
}

static void close_the_application(void *closed) {
    OK(pw_app_close(app, 0, done, closed));
}

static void on_request(void *user, pw_request *request, pw_answer *answer) {
    (void)user;
    OK(pw_answer_fail(answer, 404, NULL, "none"));
    pw_answer_free(answer);
    pw_request_free(request);
}

static void destructors_that_use_the_application(void) {
    static int dropped;
    signal_t closed;
    signal_init(&closed);
    alarm(60);
    shop(NULL, PW_RUNS_INLINE, on_answer);
    FAILS(pw_app_listen(app, "db", "ask", PW_RUNS_INLINE, on_answer, &dropped, use_the_application),
          PW_ERROR_KIND_REFUSED, "ask");
    FAILS(pw_app_route(app, "GET", "/plain", PW_BODY_NONE, PW_RUNS_INLINE, on_request, &dropped, use_the_application),
          PW_ERROR_KIND_REFUSED, "/plain");
    CHECK(dropped == 2);
    FAILS(pw_app_listen(app, "db", "ask", PW_RUNS_INLINE, on_answer, &closed, close_the_application),
          PW_ERROR_KIND_REFUSED, "ask");
    signal_wait(&closed, 1);
    pw_app_free(app);
}

/* Callbacks that ask again */

static int deepest;

/* Calls the event that it answers, by the handle of the application or by that of the event. */
static void on_itself(void *user, pw_event *event, pw_answer *answer) {
    pw_caller *own = NULL;
    pw_payload *payload = NULL;
    __atomic_fetch_add(&deepest, 1, __ATOMIC_RELAXED);
    OK(pw_event_caller(event, &own));
    const pw_caller *by = user ? caller : own;
    pw_error *error = pw_caller_call(by, "db:itself", "application/json", bytes("1"), 0, &payload, NULL, NULL);
    if (error) {
        CHECK(pw_error_kind_of(error) == (user ? PW_ERROR_KIND_NESTED : PW_ERROR_KIND_FAILED) && payload == NULL);
        CHECK(user || strcmp(pw_error_code(error), "too-deep") == 0);
        signal_give(&given);
        pw_error_free(error);
    }
    pw_payload_free(payload);
    pw_caller_free(own);
    OK(pw_answer_json(answer, "1"));
    pw_answer_free(answer);
}

static void listen_to_itself(pw_runs runs, void *by_application) {
    pw_payload *payload = NULL;
    deepest = 0;
    app = start(NULL);
    OK(pw_app_listen(app, "db", "itself", runs, on_itself, by_application, NULL));
    OK(pw_app_caller(app, &caller));
    OK(pw_caller_call(caller, "db:itself", "application/json", bytes("1"), 0, &payload, NULL, NULL));
    CHECK(is(pw_payload_data(payload), "1"));
    signal_wait(&given, 1);
    CHECK(deepest <= 16);
    given.count = 0;
    pw_payload_free(payload);
    pw_caller_free(caller);
    end(app);
}

static void a_listener_that_calls_itself(void) {
    for (pw_runs runs = PW_RUNS_INLINE; runs <= PW_RUNS_BLOCKING; runs++) {
        listen_to_itself(runs, &deepest);
        listen_to_itself(runs, NULL);
    }
}

/* Answers a request with the reply to another one. */
static void pass_on(void *answer, pw_reply *reply) {
    if (reply)
        pw_error_free(pw_answer_reply(answer, reply));
    pw_answer_free(answer);
}

/* Answers a request with the reply to the same one. */
static void on_same(void *user, pw_request *request, pw_answer *answer) {
    pw_reply *reply = NULL;
    pw_in_flight *in_flight = NULL;
    (void)user;
    __atomic_fetch_add(&deepest, 1, __ATOMIC_RELAXED);
    pw_error *error = pw_app_begin(app, request_of("GET", "/same"), &reply, &in_flight, pass_on, answer);
    if (error) {
        CHECK(pw_error_kind_of(error) == PW_ERROR_KIND_NESTED && reply == NULL && in_flight == NULL);
        OK(pw_answer_fail(answer, 508, "nested", pw_error_message(error)));
        pw_error_free(error);
        pw_answer_free(answer);
    } else if (reply) {
        pass_on(answer, reply);
    }
    pw_in_flight_free(in_flight);
    pw_request_free(request);
}

static void a_route_that_asks_itself(void) {
    for (pw_runs runs = PW_RUNS_INLINE; runs <= PW_RUNS_BLOCKING; runs++) {
        deepest = 0;
        app = start(NULL);
        OK(pw_app_route(app, "GET", "/same", PW_BODY_NONE, runs, on_same, NULL, NULL));
        CHECK(get(app, "/same", text, sizeof text) == 508 && strstr(text, "within") != NULL);
        CHECK(deepest <= 16);
        end(app);
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pw_answer *waiting[65536];
static int first, last;

/* Leaves its request to another thread, as an event loop does. */
static void on_hop(void *user, pw_request *request, pw_answer *answer) {
    (void)user;
    pw_request_free(request);
    pthread_mutex_lock(&lock);
    CHECK(last < 65536);
    waiting[last++] = answer;
    pthread_mutex_unlock(&lock);
    signal_give(&given);
}

/* Answers each request with the reply to another one of its kind, so that none of them ends. */
static void *hop(void *stopped) {
    for (int number = 1;; number++) {
        pw_reply *reply = NULL;
        pw_in_flight *in_flight = NULL;
        signal_wait(&given, number);
        pthread_mutex_lock(&lock);
        pw_answer *answer = waiting[first++];
        pthread_mutex_unlock(&lock);
        OK(pw_app_begin(app, request_of("GET", "/hop"), &reply, &in_flight, pass_on, answer));
        pw_in_flight_free(in_flight);
        if (reply) {
            CHECK(pw_reply_status(reply) == 503);
            pass_on(answer, reply);
            return stopped;
        }
    }
}

static void a_route_that_asks_itself_on_another_thread(void) {
    pthread_t thread;
    app = start(NULL);
    OK(pw_app_route(app, "GET", "/hop", PW_BODY_NONE, PW_RUNS_INLINE, on_hop, NULL, NULL));
    CHECK(pthread_create(&thread, NULL, hop, NULL) == 0);
    CHECK(get(app, "/hop", text, sizeof text) == 503);
    pthread_join(thread, NULL);
    printf("%d requests within one another\n", last);
    end(app);
}

/* Ends */

/* `exit` must not be called again. */
static void close_at_the_end(void) {
    pw_error *error = pw_app_close(app, 0, NULL, NULL);
    if (error || threads_alive() != 1) {
        fprintf(stderr, "%d threads: %s\n", threads_alive(), error ? pw_error_message(error) : "no error");
        _exit(1);
    }
    pw_app_free(app);
    puts("closed");
}

static int closes_in_destructor;

__attribute__((destructor)) static void close_in_destructor(void) {
    if (closes_in_destructor)
        close_at_the_end();
}

static void serve_a_shop(void) {
    pw_server *server = NULL;
    alarm(60);
    shop(NULL, PW_RUNS_BLOCKING, on_answer);
    OK(pw_app_serve(app, "127.0.0.1:0", &server));
    CHECK(get(app, "/ask", text, sizeof text) == 200);
    pw_server_free(server);
}

static void a_close_in_atexit(void) {
    CHECK(atexit(close_at_the_end) == 0);
    serve_a_shop();
}

static void a_close_in_a_destructor(void) {
    serve_a_shop();
    closes_in_destructor = 1;
}

static void a_close_that_leaves_no_thread(void) {
    for (int i = 0; i < 20; i++) {
        serve_a_shop();
        CHECK(threads_alive() > 1);
        OK(pw_app_close(app, 0, NULL, NULL));
        CHECK(threads_alive() == 1);
        pw_app_free(app);
    }
}

static pw_error *of_log;

static void close_in_log(void *user, pw_level level, const char *target, const char *line) {
    (void)user, (void)level, (void)target, (void)line;
    pw_figures figures;
    /* A line may be written while the application is locked. */
    FAILS(pw_app_figures(app, &figures), PW_ERROR_KIND_REFUSED, "writes the log");
    if (!of_log)
        of_log = pw_app_close(app, 0, NULL, NULL);
}

static void a_close_in_the_log(void) {
    alarm(60);
    app = start(NULL);
    OK(pw_log(PW_LEVEL_INFO, close_in_log, NULL));
    OK(pw_app_load_file(app, "shop", component("one"), NULL, NULL, NULL));
    CHECK(of_log != NULL && pw_error_kind_of(of_log) == PW_ERROR_KIND_REFUSED);
    pw_error_free(of_log);
    CHECK(get(app, "/plain", text, sizeof text) == 200);
    end(app);
}

static pw_answer *kept;

static void on_keep(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    kept = answer;
    signal_give(&given);
}

static void cancelled(void *ended, pw_reply *reply) {
    CHECK(reply == NULL);
    signal_give(ended);
}

/* The end of a thread */

static pthread_key_t at_end;

static void ask_at_the_end(void *unused) {
    pw_reply *reply = NULL;
    (void)unused;
    FAILS(pw_app_handle(app, request_of("GET", "/plain"), 0, &reply), PW_ERROR_KIND_HOST, "a thread that ends");
    signal_give(&given);
}

static void *ask_and_end(void *unused) {
    CHECK(get(app, "/plain", text, sizeof text) == 200);
    CHECK(pthread_setspecific(at_end, &given) == 0);
    return unused;
}

static void a_request_in_the_destructor_of_a_thread(void) {
    pthread_t thread;
    shop(NULL, PW_RUNS_INLINE, on_answer);
    CHECK(pthread_key_create(&at_end, ask_at_the_end) == 0);
    CHECK(pthread_create(&thread, NULL, ask_and_end, NULL) == 0 && pthread_join(thread, NULL) == 0);
    signal_wait(&given, 1);
    end(app);
}

static void ask_in_atexit(void) {
    ask_at_the_end(NULL);
    OK(pw_app_close(app, 0, NULL, NULL));
}

static void a_request_in_atexit(void) {
    shop(NULL, PW_RUNS_INLINE, on_answer);
    CHECK(get(app, "/plain", text, sizeof text) == 200);
    CHECK(atexit(ask_in_atexit) == 0);
}

/* Nobody runs its guest, or calls the functions of its application, any more. */
static void a_request_that_was_taken_before_the_close(void) {
    pw_mount *mount = NULL;
    pw_reply *reply = NULL;
    shop(NULL, PW_RUNS_INLINE, on_answer);
    OK(pw_app_mount(app, PW_PLACE_IN_FRONT, NULL, &mount));
    pw_request_builder *taken = request_of("GET", "/plain");
    CHECK(pw_mount_accepts(mount, taken));
    OK(pw_app_close(app, 0, NULL, NULL));
    OK(pw_mount_handle(mount, taken, 0, &reply));
    CHECK(read_reply(reply, text, sizeof text) == 503);
    pw_mount_free(mount);
    pw_app_free(app);
}

static void requests_of_an_application_that_is_freed(void) {
    pw_reply *reply = NULL;
    pw_in_flight *in_flight = NULL;
    signal_t ended;
    signal_init(&ended);
    shop(NULL, PW_RUNS_INLINE, on_keep);
    OK(pw_app_begin(app, request_of("GET", "/ask"), &reply, &in_flight, cancelled, &ended));
    pw_app_free(app);
    signal_wait(&ended, 1);
    pw_in_flight_free(in_flight);
    pw_answer_free(kept);
}

/* A full disk is no reason to end, nor is a limit for the size of files. The limit is above the 300 KiB of the memory image, which
 * wasmtime writes to an anonymous file, and below the megabyte of compiled code, which the cache writes. */
static void a_cache_over_the_limit_of_file_sizes(void) {
    struct rlimit limit = {512 * 1024, 512 * 1024};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    const char *cache = getenv("XDG_CACHE_HOME");
    CHECK(cache != NULL);
    char settings[600], folder[300];
    snprintf(folder, sizeof folder, "%s/XXXXXX", cache);
    CHECK(mkdtemp(folder) != NULL);
    snprintf(settings, sizeof settings, "{\"cache\": {\"directory\": \"%s/cache\", \"enabled\": true}}", folder);
    shop(settings, PW_RUNS_INLINE, on_answer);
    CHECK(get(app, "/plain", text, sizeof text) == 200);
    end(app);
}

/* The limit is below the memory image of the second module: the load fails, and the first module serves on. */
static void a_module_over_the_limit_of_file_sizes(void) {
    shop(NULL, PW_RUNS_INLINE, on_answer);
    struct rlimit limit = {4096, 4096};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    pw_error *error = pw_app_load_file(app, "second", component("large"), NULL, NULL, NULL);
    CHECK(error != NULL && strstr(pw_error_message(error), "File too large") != NULL);
    pw_error_free(error);
    CHECK(get(app, "/plain", text, sizeof text) == 200);
    end(app);
}

/* Chunks of bodies */

static void on_nothing(void *user, pw_next *chunk) {
    (void)user;
    pw_chunk_data(chunk, bytes(""));
}

static void on_empty(void *user, pw_request *request, pw_answer *answer) {
    pw_reply *reply = NULL;
    (void)user;
    OK(pw_reply_new(200, &reply));
    OK(pw_reply_set_source(reply, on_nothing, NULL, NULL, -1));
    OK(pw_answer_reply(answer, reply));
    pw_answer_free(answer);
    pw_request_free(request);
}

static void empty_chunks_without_end(void) {
    pw_reply *reply = NULL;
    pw_body *body = NULL;
    pw_bytes data;
    alarm(60);
    app = start(NULL);
    OK(pw_app_route(app, "GET", "/empty", PW_BODY_NONE, PW_RUNS_INLINE, on_empty, NULL, NULL));
    OK(pw_app_handle(app, request_of("GET", "/empty"), 0, &reply));
    OK(pw_reply_body(reply, &body));
    CHECK(pw_body_next(body, 50, &data, NULL, NULL) == PW_CHUNK_PENDING);
    pw_body_free(body);
    pw_reply_free(reply);
    end(app);
}


static pw_next *chunk_in_wait;
static signal_t gone;

static void on_chunk(void *user, pw_next *chunk) {
    (void)user;
    chunk_in_wait = chunk;
    OK(pw_chunk_when_gone(chunk, signal_give, &gone, NULL));
    FAILS(pw_chunk_when_gone(chunk, NULL, NULL, NULL), PW_ERROR_KIND_ARGUMENT, "`gone`");
    signal_give(&given);
}

static void on_endless(void *user, pw_request *request, pw_answer *answer) {
    pw_reply *reply = NULL;
    (void)user;
    OK(pw_reply_new(200, &reply));
    OK(pw_reply_set_source(reply, on_chunk, NULL, NULL, -1));
    OK(pw_answer_reply(answer, reply));
    pw_answer_free(answer);
    pw_request_free(request);
}

static void *fetch_endless(void *server) {
    fetch(server, "/endless");
    return NULL;
}

static void *read_endless(void *body) {
    pw_bytes data;
    CHECK(pw_body_next(body, 0, &data, NULL, NULL) == PW_CHUNK_BROKEN);
    return NULL;
}

static void serve_endless(void) {
    alarm(60);
    signal_init(&gone);
    app = start("{\"limits\": {\"shutdown-grace\": \"100ms\"}}");
    OK(pw_app_route(app, "GET", "/endless", PW_BODY_NONE, PW_RUNS_INLINE, on_endless, NULL, NULL));
}

/* The program is told that its reader is gone by a close, which cuts what a client reads. */
static void a_source_of_the_server_at_a_close(void) {
    pw_server *server = NULL;
    pthread_t thread;
    serve_endless();
    OK(pw_app_serve(app, "127.0.0.1:0", &server));
    CHECK(pthread_create(&thread, NULL, fetch_endless, server) == 0);
    signal_wait(&given, 1);
    CHECK(gone.count == 0);
    OK(pw_app_close(app, 0, NULL, NULL));
    signal_wait(&gone, 1);
    pw_chunk_data(chunk_in_wait, bytes("late"));
    pthread_join(thread, NULL);
    pw_server_free(server);
    pw_app_free(app);
}

/* The same where the program itself reads the reply. */
static void a_source_of_the_program_at_a_close(void) {
    pw_reply *reply = NULL;
    pw_body *body = NULL;
    pw_bytes data;
    pthread_t thread;
    serve_endless();
    OK(pw_app_handle(app, request_of("GET", "/endless"), 0, &reply));
    OK(pw_reply_body(reply, &body));
    CHECK(pw_body_next(body, 20, &data, NULL, NULL) == PW_CHUNK_PENDING);
    CHECK(pthread_create(&thread, NULL, read_endless, body) == 0);
    signal_wait(&given, 1);
    OK(pw_app_close(app, 0, NULL, NULL));
    pthread_join(thread, NULL);
    signal_wait(&gone, 1);
    pw_chunk_end(chunk_in_wait);
    pw_body_free(body);
    pw_reply_free(reply);
    pw_app_free(app);
}

/* Limits */

static void too_many_headers(void) {
    app = start(NULL);
    for (int one_name = 0; one_name <= 1; one_name++) {
        pw_request_builder *request = request_of("GET", "/none");
        pw_reply *reply = NULL;
        pw_error *error = NULL;
        for (int i = 0; i < 40000; i++) {
            char name[32];
            snprintf(name, sizeof name, "x-%d", one_name ? 0 : i);
            error = pw_request_builder_add_header(request, name, "1");
            if (error) {
                CHECK(pw_error_kind_of(error) == PW_ERROR_KIND_ARGUMENT && strstr(pw_error_message(error), "at most"));
                pw_error_free(error);
            }
        }
        CHECK(error != NULL);
        OK(pw_app_handle(app, request, 0, &reply));
        CHECK(pw_reply_status(reply) >= 400);
        pw_reply_free(reply);
    }
    end(app);
}

/* Starts an application in a child process with that limit; the result is whether it started. */
static int starts(int resource, rlim_t limit) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit tight = {limit, limit};
        pw_app *own = NULL;
        alarm(60);
        CHECK(setrlimit(resource, &tight) == 0);
        /* The number of threads of root has no limit. */
        if (resource == RLIMIT_NPROC && getuid() == 0)
            CHECK(setresuid(65534, 65534, 65534) == 0);
        pw_error *error = pw_app_start(PW_ABI_VERSION, "{\"cache\": {\"enabled\": false}}", NULL, &own);
        if (error) {
            if (pw_error_kind_of(error) != PW_ERROR_KIND_ENGINE || own)
                fprintf(stderr, "%s\n", pw_error_message(error));
            _exit(pw_error_kind_of(error) == PW_ERROR_KIND_ENGINE && !own ? 3 : 1);
        }
        pw_error_free(pw_app_load_file(own, "shop", component("one"), NULL, NULL, NULL));
        pw_error_free(pw_app_close(own, 0, NULL, NULL));
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3)) {
        fprintf(stderr, "a start within %llu: status %x\n", (unsigned long long)limit, status);
        exit(1);
    }
    return WEXITSTATUS(status) == 0;
}

static void starts_within_limits(void) {
    CHECK(!starts(RLIMIT_NPROC, 0));
    struct rlimit of_open_files;
    getrlimit(RLIMIT_NOFILE, &of_open_files);
    CHECK(!starts(RLIMIT_NOFILE, 3));
    long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    CHECK(sizes != NULL && fscanf(sizes, "%ld", &pages) == 1);
    fclose(sizes);
    rlim_t own = (rlim_t)pages * sysconf(_SC_PAGESIZE);
    for (rlim_t more = 8 << 20; more <= (rlim_t)1 << 36; more *= 4)
        printf("%llu MiB: %d\n", (unsigned long long)more >> 20, starts(RLIMIT_AS, own + more));
    CHECK(!starts(RLIMIT_AS, own + (8 << 20)));
}

static void on_block(void *user, pw_event *event, pw_answer *answer) {
    (void)event;
    signal_give(&given);
    signal_wait(user, 1);
    OK(pw_answer_json(answer, "1"));
    pw_answer_free(answer);
}

static void on_payload(void *ended, pw_error *error, pw_payload *payload) {
    OK(error);
    pw_payload_free(payload);
    signal_give(ended);
}

/* Has that many callbacks of the pool wait for `go_on`. */
static void block_callbacks(int number, signal_t *go_on, signal_t *ended) {
    signal_init(go_on), signal_init(ended);
    OK(pw_app_listen(app, "db", "block", PW_RUNS_BLOCKING, on_block, go_on, NULL));
    OK(pw_app_caller(app, &caller));
    for (int i = 0; i < number; i++)
        OK(pw_caller_call(caller, "db:block", "application/json", bytes("1"), 0, NULL, on_payload, ended));
}

static void a_server_while_all_callbacks_wait(void) {
    signal_t go_on, ended;
    pw_server *server = NULL;
    alarm(60);
    shop(NULL, PW_RUNS_INLINE, on_answer);
    block_callbacks(64, &go_on, &ended);
    signal_wait(&given, 64);
    OK(pw_app_serve(app, "localhost:0", &server));
    CHECK(fetch(server, "/plain") == 200);
    signal_give(&go_on);
    signal_wait(&ended, 64);
    pw_server_free(server);
    pw_caller_free(caller);
    end(app);
}

static void numbers_of_threads(void) {
    signal_t go_on, ended;
    pw_threads threads = {.workers = 5, .blocking = 3};
    alarm(60);
    OK(pw_app_start(PW_ABI_VERSION, NULL, &threads, &app));
    while (threads_named("pointwork-host") < 5)
        usleep(1000);
    block_callbacks(8, &go_on, &ended);
    signal_wait(&given, 3);
    usleep(100000);
    CHECK(given.count == 3 && threads_named("pointwork-host") == 5 + 3);
    signal_give(&go_on);
    signal_wait(&ended, 8);
    pw_caller_free(caller);
    end(app);
}

/* Times */

static void on_late(void *ended, pw_error *error, pw_payload *payload) {
    CHECK(error && pw_error_kind_of(error) == PW_ERROR_KIND_TIMED_OUT && !payload);
    pw_error_free(error);
    signal_give(ended);
}

static void late(void *ended, pw_error *error) {
    on_late(ended, error, NULL);
}

static void times_that_are_over(void) {
    signal_t ended;
    pw_reply *reply = NULL;
    pw_mount *mount = NULL;
    pw_payload *payload = NULL;
    pw_server *server = NULL;
    pw_in_flight *in_flight = NULL;
    pw_request_builder *ask = request_of("GET", "/ask");
    signal_init(&ended);
    alarm(60);
    shop("{\"limits\": {\"shutdown-grace\": \"2s\"}}", PW_RUNS_INLINE, on_keep);
    FAILS(pw_app_handle(app, ask, 50, &reply), PW_ERROR_KIND_TIMED_OUT, "within 50 ms");
    CHECK(reply == NULL);
    /* The request is cancelled. */
    for (int i = 0; i < 1000 && !pw_answer_is_cancelled(kept); i++)
        usleep(10000);
    FAILS(pw_answer_json(kept, "1"), PW_ERROR_KIND_CLOSED, "nobody waits");
    pw_answer_free(kept);
    OK(pw_app_mount(app, PW_PLACE_EVERYTHING, NULL, &mount));
    FAILS(pw_mount_handle(mount, request_of("GET", "/ask"), 50, &reply), PW_ERROR_KIND_TIMED_OUT, "within 50 ms");
    pw_answer_free(kept);
    OK(pw_app_caller(app, &caller));
    FAILS(pw_caller_call(caller, "db:ask", "application/json", bytes("1"), 50, &payload, NULL, NULL),
          PW_ERROR_KIND_TIMED_OUT, "within 50 ms");
    CHECK(payload == NULL);
    pw_answer_free(kept);
    OK(pw_caller_call(caller, "db:ask", "application/json", bytes("1"), 50, NULL, on_late, &ended));
    signal_wait(&ended, 1);
    pw_answer_free(kept);
    OK(pw_app_begin(app, request_of("GET", "/ask"), &reply, &in_flight, pass_on, NULL));
    OK(pw_app_serve(app, "127.0.0.1:0", &server));
    OK(pw_server_stop(server, 10000, NULL, NULL));
    OK(pw_app_close(app, 50, late, &ended));
    FAILS(pw_app_close(app, 50, NULL, NULL), PW_ERROR_KIND_TIMED_OUT, "within 50 ms");
    signal_wait(&ended, 2);
    OK(pw_answer_json(kept, "1"));
    pw_answer_free(kept);
    OK(pw_app_close(app, 20000, NULL, NULL));
    pw_in_flight_free(in_flight);
    pw_server_free(server);
    pw_mount_free(mount);
    pw_caller_free(caller);
    pw_app_free(app);
}

static const way ways[] = {
    WAY(signals_that_are_waited_for),
    WAY(destructors_that_use_the_application),
    WAY(a_listener_that_calls_itself),
    WAY(a_route_that_asks_itself),
    WAY(a_route_that_asks_itself_on_another_thread),
    WAY(a_close_in_atexit),
    WAY(a_close_in_a_destructor),
    WAY(a_close_that_leaves_no_thread),
    WAY(a_close_in_the_log),
    WAY(a_request_in_the_destructor_of_a_thread),
    WAY(a_request_in_atexit),
    WAY(a_request_that_was_taken_before_the_close),
    WAY(requests_of_an_application_that_is_freed),
    WAY(a_cache_over_the_limit_of_file_sizes),
    WAY(a_module_over_the_limit_of_file_sizes),
    WAY(empty_chunks_without_end),
    WAY(a_source_of_the_server_at_a_close),
    WAY(a_source_of_the_program_at_a_close),
    WAY(too_many_headers),
    WAY(starts_within_limits),
    WAY(a_server_while_all_callbacks_wait),
    WAY(numbers_of_threads),
    WAY(times_that_are_over),
};

int main(int count, char **arguments) {
    signal_init(&given);
    return run_way(ways, sizeof ways / sizeof *ways, count, arguments);
}
