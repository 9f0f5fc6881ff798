// Typed functions for variadic functions and macros of SQLite, which Swift cannot call.
#ifndef POSTERN_CSQLITE_H
#define POSTERN_CSQLITE_H
#include <sqlite3.h>

static inline int postern_sqlite_set(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}

// SQLite copies the bytes. A null pointer would bind NULL, which an empty blob is not.
static inline int postern_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                    : sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int postern_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text) {
  return sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}
#endif
