// Typed shims over libcurl's variadic calls; nothing else lives in this header.
#ifndef POSTERN_CCURL_H
#define POSTERN_CCURL_H
#include <curl/curl.h>
#endif
