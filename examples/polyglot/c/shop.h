/* The shop in C: db.c is its database, server.c its server, shop.c the rest. */
#ifndef SHOP_H
#define SHOP_H

#include <pointwork.h>

/* Ends the program with the text of an error, unless it is NULL. */
void check(pw_error *error);

/* Ends the program with a text. */
_Noreturn void fail(const char *format, ...);

/* Opens the database, runs the file `schema`, and listens to the events of the channel `db`. */
void open_database(pw_app *app, const char *path, const char *schema);

/* The first value of a query whose ?1 is a text of JSON. Free it. */
char *query(const char *sql, pw_bytes json);

/* Closes the database, behind the application. */
void close_database(void);

/* Serves an application at an address such as 127.0.0.1:8080, in front of the routes of the server itself. */
void start_server(pw_app *app, const char *address);

/* Accepts no more connections, and waits for the requests in flight, 30 seconds at most. */
void stop_server(void);

#endif
