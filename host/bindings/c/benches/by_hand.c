/* The answer of the component's plain route, written by hand in libmicrohttpd. Its server has the options of examples/microhttpd.c. */
#define _GNU_SOURCE
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *data, size_t *size, void **own) {
    static int has_begun;
    (void)user, (void)method, (void)version, (void)data, (void)size;
    if (!*own) {
        *own = &has_begun;
        return MHD_YES;
    }
    int is_ours = strcmp(path, "/plain") == 0;
    struct MHD_Response *response = MHD_create_response_from_buffer(5, (void *)"plain", MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "content-type", "text/plain; charset=utf-8");
    enum MHD_Result queued = MHD_queue_response(connection, is_ours ? 200 : 404, response);
    MHD_destroy_response(response);
    return queued;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, answer, NULL,
                         MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_END);
    if (!daemon)
        return 1;
    printf("listening on http://127.0.0.1:%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    MHD_stop_daemon(daemon);
    return 0;
}
