/* The channel `db`: a statement of SQL for each event. ?1 is the payload, which is JSON, and so is the result: SQLite reads and writes
 * both. */
#define _GNU_SOURCE
#include "shop.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCT "json_object('id', id, 'sku', sku, 'name', name, 'price_cents', price_cents, 'description', description)"
#define LIST_OF(rows) "SELECT json_group_array(json(product)) FROM (SELECT " PRODUCT " AS product FROM products " rows ")"

typedef struct {
    const char *event;
    const char *sql;
    sqlite3_stmt *prepared;
} statement;

static statement statements[] = {
    {"product:all", LIST_OF("ORDER BY id LIMIT ?1 ->> '$.limit' OFFSET ?1 ->> '$.offset'"), NULL},
    {"product:count", "SELECT json_object('products', count(*)) FROM products", NULL},
    {"product:one", "SELECT " PRODUCT " FROM products WHERE id = ?1 ->> '$'", NULL},
    {"product:search",
     LIST_OF("WHERE instr(lower(name), lower(?1 ->> '$.text')) > 0 OR instr(lower(description), lower(?1 ->> '$.text')) > 0 "
             "ORDER BY id LIMIT ?1 ->> '$.limit'"),
     NULL},
    {"product:create",
     "INSERT INTO products (sku, name, price_cents, description) "
     "VALUES (?1 ->> '$.sku', ?1 ->> '$.name', ?1 ->> '$.price_cents', ?1 ->> '$.description') RETURNING " PRODUCT,
     NULL},
    /* A field that is null is not changed. */
    {"product:update",
     "UPDATE products SET sku = coalesce(?1 ->> '$.sku', sku), name = coalesce(?1 ->> '$.name', name), "
     "price_cents = coalesce(?1 ->> '$.price_cents', price_cents), "
     "description = coalesce(?1 ->> '$.description', description) WHERE id = ?1 ->> '$.id' RETURNING " PRODUCT,
     NULL},
    {"product:delete", "DELETE FROM products WHERE id = ?1 ->> '$'", NULL},
    {"product:viewed",
     "INSERT INTO product_views (product_id, views) VALUES (?1 ->> '$', 1) ON CONFLICT (product_id) DO UPDATE SET views = views + 1",
     NULL},
    {"product:views",
     "SELECT json_object('id', id, 'views', coalesce(views, 0)) "
     "FROM products LEFT JOIN product_views ON product_id = id WHERE id = ?1 ->> '$'",
     NULL},
};

/* An integer that SQLite would round. */
static const char *const TOO_LARGE =
    "SELECT iif(fullkey = '$', 'the payload', format('the payload''s field `%s`', key)) || "
    "format(' is %s; the largest integer that fits is %lld', ?1 -> fullkey, 9223372036854775807) "
    "FROM json_tree(?1) WHERE type = 'integer' AND typeof(atom) = 'real'";

#define COUNT (sizeof statements / sizeof *statements)

/* One connection, which one thread at a time uses. */
static sqlite3 *database;
static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;

/* Runs a statement to its end, since a change is committed then. *result is the first value, the number of changed rows of a statement
 * without values, or NULL; free it. Returns the code of SQLite. */
static int run(sqlite3_stmt *prepared, pw_bytes payload, char **result) {
    int code;
    *result = NULL;
    if (sqlite3_bind_parameter_count(prepared) > 0)
        sqlite3_bind_text64(prepared, 1, (const char *)payload.data, payload.size, SQLITE_STATIC, SQLITE_UTF8);
    while ((code = sqlite3_step(prepared)) == SQLITE_ROW)
        if (!*result && sqlite3_column_type(prepared, 0) != SQLITE_NULL)
            *result = strdup((const char *)sqlite3_column_text(prepared, 0));
    if (code == SQLITE_DONE && sqlite3_column_count(prepared) == 0 && asprintf(result, "%d", sqlite3_changes(database)) < 0)
        *result = NULL;
    if (code != SQLITE_DONE && (code & 0xff) != SQLITE_CONSTRAINT)
        fprintf(stderr, "the database: %s\n", sqlite3_errmsg(database));
    sqlite3_reset(prepared);
    sqlite3_clear_bindings(prepared);
    return code;
}

char *query(const char *sql, pw_bytes json) {
    sqlite3_stmt *prepared;
    char *result = NULL;
    pthread_mutex_lock(&in_use);
    if (sqlite3_prepare_v2(database, sql, -1, &prepared, NULL) == SQLITE_OK)
        run(prepared, json, &result);
    else
        fprintf(stderr, "the database: %s\n", sqlite3_errmsg(database));
    sqlite3_finalize(prepared);
    pthread_mutex_unlock(&in_use);
    return result;
}

/* Why SQLite would change a payload as it reads it, or NULL. Free it. */
static char *unfit(pw_bytes payload) {
    if (payload.size > 0 && memmem(payload.data, payload.size, "\\u0000", 6))
        return strdup("the payload has a text with the character U+0000, where SQLite ends a text");
    return query(TOO_LARGE, payload);
}

/* The event of a statement. The code `conflict` is what the controllers know. */
static void on_event(void *statement_, pw_event *event, pw_answer *answer) {
    statement *statement = statement_;
    pw_bytes payload = pw_event_data(event);
    char *result = NULL, *reason = unfit(payload);
    pw_error *unheard;
    int code = SQLITE_DONE;
    if (!reason) {
        pthread_mutex_lock(&in_use);
        code = run(statement->prepared, payload, &result);
        pthread_mutex_unlock(&in_use);
    }
    if (reason)
        unheard = pw_answer_fail(answer, 400, "bad-payload", reason);
    else if (code == SQLITE_DONE)
        unheard = pw_answer_json(answer, result ? result : "null");
    else if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_FOREIGNKEY)
        unheard = pw_answer_fail(answer, 409, "conflict", "the change contradicts another row");
    else if ((code & 0xff) == SQLITE_BUSY)
        unheard = pw_answer_fail(answer, 503, "overloaded", "the database is busy");
    else
        unheard = pw_answer_fail(answer, 500, "failed", "the database failed");
    /* Nobody waits any more. */
    pw_error_free(unheard);
    pw_answer_free(answer);
    free(result), free(reason);
}

static char *text_of_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    if (!file || getdelim(&text, &room, '\0', file) < 0)
        fail("cannot read `%s`: %m", path);
    fclose(file);
    return text;
}

static void execute(const char *path, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail("the database `%s`: %s", path, sqlite3_errmsg(database));
}

void open_database(pw_app *app, const char *path, const char *schema) {
    if (sqlite3_open(path, &database) != SQLITE_OK)
        fail("cannot open the database `%s`: %s", path, sqlite3_errmsg(database));
    char *tables = text_of_file(schema);
    sqlite3_busy_timeout(database, 5000);
    sqlite3_extended_result_codes(database, 1);
    execute(path, "PRAGMA journal_mode = wal; PRAGMA synchronous = normal; PRAGMA foreign_keys = on; BEGIN IMMEDIATE");
    execute(path, tables);
    execute(path, "COMMIT");
    free(tables);
    for (statement *statement = statements; statement < statements + COUNT; statement++) {
        if (sqlite3_prepare_v3(database, statement->sql, -1, SQLITE_PREPARE_PERSISTENT, &statement->prepared, NULL) != SQLITE_OK)
            fail("the statement of `%s`: %s", statement->event, sqlite3_errmsg(database));
        check(pw_app_listen(app, "db", statement->event, PW_RUNS_BLOCKING, on_event, statement, NULL));
    }
}

void close_database(void) {
    for (statement *statement = statements; statement < statements + COUNT; statement++)
        sqlite3_finalize(statement->prepared);
    sqlite3_close(database);
}
