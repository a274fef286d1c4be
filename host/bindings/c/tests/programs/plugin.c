/* Loads the library by hand, as a plugin does, and lets go of it without a close of the application: plugin LIBRARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *library;

/* The thread that used the library ends before it is let go of, so that nothing of the thread keeps it in memory. */
static void *use(void *unused) {
    void *app = NULL;
    void *(*start)(unsigned abi, const char *settings, const void *threads, void **app);
    void (*free_app)(void *app);
    *(void **)&start = dlsym(library, "pw_app_start");
    *(void **)&free_app = dlsym(library, "pw_app_free");
    if (start(1, "{\"cache\": {\"enabled\": false}}", NULL, &app))
        exit(1);
    free_app(app);
    return unused;
}

int main(int count, char **arguments) {
    for (int i = 0; count > 1 && i < 3; i++) {
        pthread_t thread;
        library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fputs(dlerror(), stderr);
            return 1;
        }
        if (pthread_create(&thread, NULL, use, NULL))
            return 1;
        pthread_join(thread, NULL);
        dlclose(library);
        usleep(200000);
    }
    puts("survived");
    return 0;
}
