// zlib's inflate; the original is a macro.
#ifndef POSTERN_CZLIB_H
#define POSTERN_CZLIB_H
#include <zlib.h>

static inline int postern_zlib_inflate_start(z_stream *stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}
#endif
