/* Serves the controllers of a component, with a channel of this program: hello COMPONENT [ADDRESS] */
#include <pointwork.h>
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

/* Answers db:visits:of, the event that the controllers of `pointwork new` call. */
static void visits(void *user, pw_event *event, pw_answer *answer) {
    (void)user, (void)event;
    check(pw_answer_json(answer, "{\"visits\": 7}"));
    pw_answer_free(answer);
}

int main(int count, char **arguments) {
    pw_app *app;
    pw_server *server;
    if (count < 2) {
        fputs("usage: hello COMPONENT [ADDRESS]\n", stderr);
        return 2;
    }
    check(pw_app_start(PW_ABI_VERSION, NULL, NULL, &app));
    check(pw_app_listen(app, "db", "visits:of", PW_RUNS_INLINE, visits, NULL, NULL));
    check(pw_app_load_file(app, "shop", arguments[1], NULL, NULL, NULL));
    check(pw_app_serve(app, count > 2 ? arguments[2] : "127.0.0.1:0", &server));
    printf("listening on http://%s, until the end of the input\n", pw_server_address(server));
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    pw_server_free(server);
    check(pw_app_close(app, 0, NULL, NULL));
    pw_app_free(app);
    return 0;
}
