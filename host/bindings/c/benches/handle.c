/* Requests in process: handle COMPONENT SETTINGS REQUESTS LATER IN_FLIGHT. For each line "round" it prints one of figures: a plain
 * request, one with a callback that answers at once (µs of this thread), one that another thread answers (µs of the processor, µs,
 * switches of threads). For a line "memory" it is the memory of a request in flight, in KiB. */
#define _GNU_SOURCE
#include <pointwork.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void check(pw_error *error) {
    if (error) {
        fprintf(stderr, "error: %s\n", pw_error_message(error));
        exit(1);
    }
}

static void give(pw_answer *answer) {
    check(pw_answer_json(answer, "null"));
    pw_answer_free(answer);
}

static void on_ask(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    give(answer);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static pw_answer *wanted;

static void on_later(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    pthread_mutex_lock(&lock);
    wanted = answer;
    pthread_cond_signal(&asked);
    pthread_mutex_unlock(&lock);
}

static void *answer_later(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!wanted)
            pthread_cond_wait(&asked, &lock);
        pw_answer *answer = wanted;
        wanted = NULL;
        pthread_mutex_unlock(&lock);
        give(answer);
    }
    return unused;
}

static pw_answer **kept;
static int keeps;

static void on_keep(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    kept[keeps++] = answer;
}

static pw_request_builder *request_of(const char *path) {
    pw_request_builder *builder;
    check(pw_request_builder_new("GET", path, &builder));
    check(pw_request_builder_add_header(builder, "host", "localhost"));
    return builder;
}

static void take(pw_reply *reply) {
    if (!reply || pw_reply_status(reply) != 200) {
        fputs("error: a request failed\n", stderr);
        exit(1);
    }
    pw_reply_free(reply);
}

static void requests(pw_app *app, const char *path, int number) {
    for (int i = 0; i < number; i++) {
        pw_reply *reply;
        check(pw_app_handle(app, request_of(path), 0, &reply));
        take(reply);
    }
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static double switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static double on_thread(pw_app *app, const char *path, int number) {
    double begun = now(CLOCK_THREAD_CPUTIME_ID);
    requests(app, path, number);
    return (now(CLOCK_THREAD_CPUTIME_ID) - begun) / number;
}

static double resident(void) {
    char line[256];
    double size = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "VmRSS:", 6) == 0)
            size = atof(line + 6);
    fclose(status);
    return size;
}

static void on_end(void *ended, pw_reply *reply) {
    take(reply);
    __atomic_fetch_add((int *)ended, 1, __ATOMIC_RELAXED);
}

static double memory(pw_app *app, int number) {
    static int ended;
    pw_in_flight *in_flight;
    pw_reply *reply;
    double before = resident();
    kept = calloc(number, sizeof *kept);
    for (int i = 0; i < number; i++) {
        check(pw_app_begin(app, request_of("/keep"), &reply, &in_flight, on_end, &ended));
        pw_in_flight_free(in_flight);
    }
    double grown = resident() - before;
    for (int i = 0; i < number; i++)
        give(kept[i]);
    while (__atomic_load_n(&ended, __ATOMIC_RELAXED) < number)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return grown / number;
}

int main(int count, char **arguments) {
    pw_app *app;
    pthread_t thread;
    if (count != 6)
        return 2;
    int number = atoi(arguments[3]), later = atoi(arguments[4]), in_flight = atoi(arguments[5]);
    check(pw_app_start(PW_ABI_VERSION, arguments[2], NULL, &app));
    check(pw_app_listen(app, "db", "ask", PW_RUNS_INLINE, on_ask, NULL, NULL));
    check(pw_app_listen(app, "db", "later", PW_RUNS_INLINE, on_later, NULL, NULL));
    check(pw_app_listen(app, "db", "keep", PW_RUNS_INLINE, on_keep, NULL, NULL));
    check(pw_app_load_file(app, "shop", arguments[1], NULL, NULL, NULL));
    pthread_create(&thread, NULL, answer_later, NULL);
    char command;
    while (scanf(" %c%*[^\n]", &command) == 1) {
        if (command == 'm') {
            printf("%f\n", memory(app, in_flight));
        } else if (command == 'r') {
            double plain = on_thread(app, "/plain", number), ask = on_thread(app, "/ask", number);
            double spent = now(CLOCK_PROCESS_CPUTIME_ID), time = now(CLOCK_MONOTONIC), waits = switches();
            requests(app, "/later", later);
            spent = now(CLOCK_PROCESS_CPUTIME_ID) - spent, time = now(CLOCK_MONOTONIC) - time;
            printf("%f %f %f %f %f\n", plain, ask, spent / later, time / later, (switches() - waits) / later);
        }
        fflush(stdout);
    }
    check(pw_app_close(app, 0, NULL, NULL));
    pw_app_free(app);
    return 0;
}
