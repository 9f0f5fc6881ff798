// Typed functions for jansson's macros, which Swift cannot call.
#ifndef POSTERN_CJANSSON_H
#define POSTERN_CJANSSON_H
#include <jansson.h>

// Trees that several threads own share values.
#if !JSON_HAVE_ATOMIC_BUILTINS && !JSON_HAVE_SYNC_BUILTINS
#error "jansson must count references atomically"
#endif

static inline json_type postern_json_typeof(const json_t *value) { return json_typeof(value); }
static inline size_t postern_json_error_code(const json_error_t *error) { return (size_t)json_error_code(error); }
#endif
