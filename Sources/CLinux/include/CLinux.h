// What Glibc's Swift overlay does not show: Linux-only structures, constants and calls.
#ifndef POSTERN_CLINUX_H
#define POSTERN_CLINUX_H
#endif
