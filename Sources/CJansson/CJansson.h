// Typed shims over jansson's macros; nothing else lives in this header.
#ifndef POSTERN_CJANSSON_H
#define POSTERN_CJANSSON_H
#include <jansson.h>
#endif
