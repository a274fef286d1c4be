/* Mounts the controllers of a component in libmicrohttpd, in front of a route of its own: microhttpd COMPONENT [PORT [TOKEN]] */
#define _GNU_SOURCE
#include "pointwork_microhttpd.h"
#include <netinet/in.h>
#include <stdio.h>

static void check(pw_error *error) {
    if (!error)
        return;
    fprintf(stderr, "error: %s\n", pw_error_message(error));
    pw_error_free(error);
    exit(1);
}

/* The server's own route, behind those of the application. */
static enum MHD_Result own_route(struct MHD_Connection *connection, const char *path) {
    int is_own = strcmp(path, "/own") == 0;
    const char *page = is_own ? "the server's own\n" : "not found\n";
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(page), (void *)page, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued = MHD_queue_response(connection, is_own ? 200 : 404, response);
    MHD_destroy_response(response);
    return queued;
}

struct server {
    struct microhttpd_mount mounted;
    /* What clients have to know; NULL if they have to know nothing. */
    const char *token;
};

static int is_authenticated(const struct server *server, struct MHD_Connection *connection) {
    const char *given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "x-token");
    return !server->token || (given && strcmp(given, server->token) == 0);
}

static enum MHD_Result refuse(struct MHD_Connection *connection) {
    struct MHD_Response *response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued = MHD_queue_response(connection, 403, response);
    MHD_destroy_response(response);
    return queued;
}

/* What must hold for the routes of modules, too, comes before the mount. */
static enum MHD_Result answer(void *server_, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *data, size_t *size, void **own) {
    struct server *server = server_;
    if (!is_authenticated(server, connection))
        return refuse(connection);
    return mount_answer(&server->mounted, connection, path, method, version, data, size, own);
}

int main(int count, char **arguments) {
    pw_app *app;
    pw_mount *mount;
    if (count < 2) {
        fputs("usage: microhttpd COMPONENT [PORT [TOKEN]]\n", stderr);
        return 2;
    }
    check(pw_app_start(PW_ABI_VERSION, NULL, NULL, &app));
    check(pw_app_load_file(app, "shop", arguments[1], NULL, NULL, NULL));
    check(pw_app_mount(app, PW_PLACE_IN_FRONT, NULL, &mount));
    struct server server = {{mount, own_route}, count > 3 ? arguments[3] : NULL};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(count > 2 ? atoi(arguments[2]) : 0)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, answer,
        &server, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_URI_LOG_CALLBACK, mount_begin, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, mount_complete, NULL, MHD_OPTION_END);
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
    check(pw_app_close(app, 0, NULL, NULL));
    pw_app_free(app);
    return 0;
}
