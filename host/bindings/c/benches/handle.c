/* Processor time of requests in process, in µs: handle COMPONENT ROUNDS REQUESTS. A line for each round: plain, with a call. */
#define _GNU_SOURCE
#include <pointwork.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check(pw_error *error) {
    if (error) {
        fprintf(stderr, "error: %s\n", pw_error_message(error));
        exit(1);
    }
}

static void on_ask(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    check(pw_answer_json(answer, "null"));
    pw_answer_free(answer);
}

static void on_late(void *late, pw_reply *reply) {
    pw_reply_free(reply);
    __atomic_fetch_add((int *)late, 1, __ATOMIC_RELAXED);
}

static double requests(pw_app *app, const char *path, int number) {
    static int late;
    struct timespec begun, ended;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    for (int i = 0; i < number; i++) {
        pw_message *message;
        pw_reply *reply;
        pw_in_flight *in_flight;
        check(pw_message_new("GET", path, &message));
        check(pw_message_add_header(message, "host", "localhost"));
        check(pw_app_begin(app, message, &reply, &in_flight, on_late, &late));
        pw_reply_free(reply);
        pw_in_flight_free(in_flight);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    return ((ended.tv_sec - begun.tv_sec) * 1e6 + (ended.tv_nsec - begun.tv_nsec) / 1e3) / number;
}

int main(int count, char **arguments) {
    pw_app *app;
    if (count != 4)
        return 2;
    int rounds = atoi(arguments[2]), number = atoi(arguments[3]);
    check(pw_app_start(PW_ABI_VERSION, NULL, &app));
    check(pw_app_listen(app, "db", "ask", PW_RUNS_INLINE, on_ask, NULL, NULL));
    check(pw_app_load_file(app, "shop", arguments[1], NULL, NULL, NULL));
    requests(app, "/plain", number);
    requests(app, "/ask", number);
    for (int i = 0; i < rounds; i++) {
        printf("%f %f\n", requests(app, "/plain", number), requests(app, "/ask", number));
        fflush(stdout);
        if (getchar() == EOF)
            break;
    }
    check(pw_app_close(app, NULL, NULL));
    pw_app_free(app);
    return 0;
}
